/** Nothing more comes in: what is just being accepted is in when this returns, or is refused. */
export const SHUT = `
create function {s}.shut(
  which text, row_max_messages bigint, row_max_bytes bigint, row_lane text, row_linger_ms bigint
) returns bigint language plpgsql {path} as $$
declare
  found_number bigint;
begin
  lock table {s}.intake in exclusive mode;
  insert into {s}.application (id, tier, max_messages, max_bytes, lane, linger_ms)
    values (which, 'closed', row_max_messages, row_max_bytes, row_lane, row_linger_ms)
    on conflict (id) do update set tier = 'closed'
    returning number into found_number;
  return found_number;
end $$;`;

/** Makes dead letters of at most \`most\` messages of a closed application that are not claimed. */
export const CLOSE_PAGE = `
create function {s}.close_page(which bigint, most bigint)
returns table (application text, message_id text, sender_id text, number bigint) language plpgsql
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
  which text, row_tier text, row_max_messages bigint, row_max_bytes bigint, row_lane text
) returns void language sql {path} as $$
  update {s}.application set tier = row_tier, max_messages = row_max_messages,
      max_bytes = row_max_bytes, lane = row_lane, not_before = 0
    where id = which
$$;`;

export const APPLICATION_ROW = `
create function {s}.application_row(which text)
returns table (tier text, max_messages bigint, max_bytes bigint, lane text) language sql stable
{path} as $$
  select a.tier, a.max_messages, a.max_bytes, a.lane from {s}.application a where a.id = which
$$;`;
