/** What was claimed is due as it was; with a tier, the state is written. Tells whether the claim was live. */
export const RELEASE = `
create function {s}.release(
  which bigint, claim_number bigint, new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text, pause_ms double precision
) returns boolean language plpgsql {plans} as $$
declare
  now_exact double precision;
  app {s}.application;
begin
  app := {s}.hold(which);
  if app.claim is distinct from claim_number or app.claim is null then
    return false;
  end if;
  now_exact := {s}.now_exact();
  update {s}.application a set
      claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
      first_due = least(a.first_due, app.claim_dues[1]),
      served_at = floor(now_exact), turn = nextval('{s}.turn_number')
    where a.number = which;
  if new_tier is not null then
    update {s}.application a set
        tier = case when a.tier = 'closed' then a.tier else new_tier end,
        max_messages = new_max_messages, max_bytes = new_max_bytes, 
        circuit_breaker = new_circuit_breaker,
        not_before = {s}.after(now_exact, pause_ms)
      where a.number = which;
  end if;
  perform {s}.end_delays(a, floor(now_exact)::bigint)
    from {s}.application a where a.number = which;
  return true;
end $$;`;

export const EXTEND = `
create function {s}.extend(which bigint, claim_number bigint, lease_ms double precision)
returns boolean language plpgsql {plans} as $$
declare
  app {s}.application;
begin
  app := {s}.hold(which);
  if app.claim is distinct from claim_number or app.claim is null then
    return false;
  end if;
  update {s}.application set lease_end = {s}.after({s}.now_exact(), lease_ms) where number = which;
  return true;
end $$;`;
