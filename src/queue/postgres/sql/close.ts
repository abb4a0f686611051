/** Nothing more comes in: what is just being accepted is in when this returns, or is refused. */
export const SHUT = `
create function {s}.shut(
  which text, new_max_messages bigint, new_max_bytes bigint, new_circuit_breaker text
) returns bigint language plpgsql {path} as $$
declare
  found_number bigint;
begin
  lock table {s}.intake in exclusive mode;
  insert into {s}.application (id, tier, max_messages, max_bytes, circuit_breaker)
    values (which, 'closed', new_max_messages, new_max_bytes, new_circuit_breaker)
    on conflict (id) do update set tier = 'closed'
    returning number into found_number;
  return found_number;
end $$;`;

/** Makes dead letters of at most \`most\` messages of a closed application that are not claimed. */
export const CLOSE_PAGE = `
create function {s}.close_page(which bigint, most bigint)
returns table (application text, message_id text, sequence bigint) language plpgsql
{plans} as $$
#variable_conflict use_column
declare
  app {s}.application;
  page record;
begin
  app := {s}.hold(which);
  select array_agg(m.due order by m.due, m.sequence) as dues,
      array_agg(m.sequence order by m.due, m.sequence) as sequences into page
    from (
      select due, sequence from {s}.message
        where application = which
          and (app.claim is null or sequence <> all (app.claim_sequences))
        order by due, sequence limit most) m;
  if page.dues is not null then
    return query select b.* from {s}.bury(
      app, page.dues, page.sequences, 'destination-closed', floor({s}.now_exact())::bigint) b;
  end if;
end $$;`;

export const REOPEN = `
create function {s}.reopen(
  which text, new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text
) returns void language plpgsql {path} as $$
declare
  app {s}.application;
begin
  update {s}.application set tier = new_tier, max_messages = new_max_messages,
      max_bytes = new_max_bytes, circuit_breaker = new_circuit_breaker, not_before = 0
    where id = which returning * into app;
  if found then
    perform {s}.end_delays(app, floor({s}.now_exact())::bigint);
  end if;
end $$;`;

export const APPLICATION_STATE = `
create function {s}.application_state(which text)
returns table (tier text, max_messages bigint, max_bytes bigint, circuit_breaker text)
language sql stable {path} as $$
  select a.tier, a.max_messages, a.max_bytes, a.circuit_breaker
    from {s}.application a where a.id = which
$$;`;
