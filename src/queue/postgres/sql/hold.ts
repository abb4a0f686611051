/** Locks an application's row. A lease that is over ends here: its messages were sent once more. */
export const HOLD = `
create function {s}.hold(which bigint) returns {s}.application language plpgsql as $$
declare
  app {s}.application;
  ended bigint;
begin
  select * into app from {s}.application where number = which for no key update;
  if app.lease_end <= {s}.now_exact() then
    ended := app.lease_end;
    update {s}.message m set sends = m.sends + 1
      from unnest(app.claim_dues, app.claim_sequences) c(due, sequence)
      where m.application = which and m.due = c.due and m.sequence = c.sequence;
    update {s}.application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        first_due = least(a.first_due, app.claim_dues[1])
      where a.number = which returning * into app;
    app := {s}.end_delays(app, ended);
  end if;
  return app;
end $$;`;

/**
 * Makes delayed messages due at \`at_ms\` where as many messages wait as one claim may have, of an
 * application whose row the caller holds. Those that wait for another attempt were sent before, and are
 * left alone.
 */
export const END_DELAYS = `
create function {s}.end_delays(app {s}.application, at_ms bigint) returns {s}.application
language plpgsql {plans} as $$
declare
  changed {s}.application;
begin
  if app.delayed_until <= at_ms
    or app.pending - coalesce(cardinality(app.claim_sequences), 0) < app.max_messages then
    return app;
  end if;
  update {s}.message m set due = greatest(at_ms, m.accepted_at)
    where m.application = app.number and m.due > at_ms and m.due <= app.delayed_until
      and m.sends = 0 and (app.claim is null or m.sequence <> all (app.claim_sequences));
  update {s}.application a set
      delayed_until = 0, first_due = case when found then least(a.first_due, at_ms) else a.first_due end
    where a.number = app.number returning * into changed;
  return changed;
end $$;`;
