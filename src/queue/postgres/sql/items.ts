/** Keys of the items that were imported: a second import ignores them. */
export const ITEM_TABLES = 'create table {s}.imported (key text primary key);';

/** Counts the applications with a live claim. Ends leases that have expired. */
export const CLAIMED = `
create function {s}.claimed() returns bigint language plpgsql {path} as $$
begin
  perform {s}.hold(a.number) from (
    select number from {s}.application where lease_end <= {s}.now_exact() order by number) a;
  return (select count(*) from {s}.application where claim is not null);
end $$;`;

export const EXPORT_APPLICATIONS = `
create function {s}.export_applications(behind bigint, most bigint)
returns table (id bigint, application text, tier text, max_messages bigint, max_bytes bigint,
  circuit_breaker text, not_before bigint) language sql stable {plans} as $$
  select a.number, a.id, a.tier, a.max_messages, a.max_bytes, a.circuit_breaker, a.not_before
    from {s}.application a where a.number > behind order by a.number limit most
$$;`;

export const EXPORT_MESSAGES = `
create function {s}.export_messages(behind bigint, most bigint)
returns table (id bigint, application text, message_id text, format smallint, content bytea,
  date_at integer, count_at integer, size_bytes bigint, sends integer, max_messages bigint,
  progress text, accepted_at bigint, due bigint) language sql stable {plans} as $$
  select m.sequence, a.id, m.message_id, m.format, m.content, m.date_at, m.count_at, m.size_bytes,
      m.sends, m.max_messages, m.progress, m.accepted_at, m.due
    from {s}.message m join {s}.application a on a.number = m.application
    where m.sequence > behind order by m.sequence limit most
$$;`;

const ROWS = `rows from (jsonb_to_recordset(added) as (
        kind text, application text, tier text, max_messages bigint, max_bytes bigint,
        circuit_breaker text, not_before bigint, message_id text, format smallint, start integer,
        length integer, date_at integer, count_at integer, size_bytes bigint, sends integer,
        progress text, reason text, last_attempt text, accepted_at bigint, due bigint,
        died_at bigint)) with ordinality`;

const COLUMNS = `accepted_at, size_bytes, sends, date_at, count_at, format, message_id`;

/**
 * Stores items, all or none; `items` is JSON, and `contents` has their bytes one after the other.
 * Without room, `passed` names the bound and nothing is stored.
 */
export const IMPORT_ITEMS = `
create function {s}.import_items(
  items text, contents bytea, new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text, bound_messages bigint, bound_bytes bigint,
  out imported bigint, out passed text, out messages bigint, out bytes bigint
) language plpgsql {plans} as $$
declare
  now_ms bigint;
  added jsonb;
  used record;
begin
  lock table {s}.intake in row share mode;
  now_ms := floor({s}.now_exact());
  select coalesce(jsonb_agg(e.item order by e.place), '[]'),
      count(*) filter (where e.item ->> 'kind' = 'message'),
      coalesce(sum((e.item ->> 'size_bytes')::bigint)
        filter (where e.item ->> 'kind' = 'message'), 0)
    into added, messages, bytes
    from jsonb_array_elements(items::jsonb) with ordinality e(item, place)
    where not exists (select from {s}.imported i where i.key = e.item ->> 'key');
  imported := jsonb_array_length(added);
  if messages > 0 then
    select * into used from {s}.waiting();
    if used.messages + messages > bound_messages then
      passed := 'maxPendingMessages';
      return;
    elsif used.bytes + bytes > bound_bytes then
      passed := 'maxPendingBytes';
      return;
    end if;
  end if;
  insert into {s}.imported select e.item ->> 'key' from jsonb_array_elements(added) e(item);
  insert into {s}.application (id, tier, max_messages, max_bytes, circuit_breaker, not_before)
    select distinct on (r.application) r.application, r.tier, r.max_messages, r.max_bytes,
        r.circuit_breaker, r.not_before
      from ${ROWS} r where r.kind = 'application' order by r.application, r.ordinality desc
    on conflict (id) do update set tier = excluded.tier, max_messages = excluded.max_messages,
      max_bytes = excluded.max_bytes, circuit_breaker = excluded.circuit_breaker,
      not_before = excluded.not_before;
  insert into {s}.application (id, tier, max_messages, max_bytes, circuit_breaker)
    select distinct r.application, new_tier, new_max_messages, new_max_bytes, new_circuit_breaker
      from ${ROWS} r
      where not exists (select from {s}.application a where a.id = r.application)
      order by r.application
    on conflict do nothing;
  with item as (
    select a.number as owner, r.*, substring(contents from r.start + 1 for r.length) as content
      from ${ROWS} r join {s}.application a on a.id = r.application where r.kind = 'message'
  ), stored as (
    insert into {s}.message (application, due, sequence, max_messages, progress, content, ${COLUMNS})
      select owner, due, nextval('{s}.turn_number'), max_messages, progress, content, ${COLUMNS}
        from (select * from item order by ordinality) i
      returning application, due, sequence, size_bytes
  )
  insert into {s}.posting (application, accepted, pending, pending_bytes, first_due, at)
    select application, count(*), count(*), sum(size_bytes), min(due), now_ms
      from stored group by application order by min(sequence);
  with item as (
    select a.number as owner, r.*, substring(contents from r.start + 1 for r.length) as content
      from ${ROWS} r join {s}.application a on a.id = r.application where r.kind = 'dead-letter'
  ), stored as (
    insert into {s}.dead_letter (application, died_at, reason, last_attempt, content, ${COLUMNS})
      select owner, died_at, reason, last_attempt, content, ${COLUMNS}
        from (select * from item order by ordinality) i
      returning application
  )
  insert into {s}.posting (application, accepted, dead)
    select application, count(*), count(*) from stored group by application;
end $$;`;
