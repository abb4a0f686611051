/**
 * Stores messages, all or none. Tells their sequences, which applications are closed and, where nothing
 * was stored for want of room, which bound would have been passed by how much.
 *
 * `ids` names each application once, the other arrays run along the entries.
 */
export const ENQUEUE = `
create function {s}.enqueue(
  ids text[], new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text, delay_ms double precision, bound_messages bigint, bound_bytes bigint,
  contents bytea, owners text[], message_ids text[], formats smallint[], starts integer[],
  lengths integer[], date_ats integer[], count_ats integer[], sizes bigint[],
  out sequences bigint[], out closed text[], out passed text, out messages bigint, out bytes bigint
) language plpgsql {plans} as $$
declare
  now_exact double precision;
  now_ms bigint;
  later_ms bigint;
  undelayed text[] := '{}';
  used_messages bigint;
  used_bytes bigint;
begin
  -- Closing an application waits for us, and we for it: what is open now stays so until we are done.
  lock table {s}.intake in row share mode;
  now_exact := {s}.now_exact();
  now_ms := floor(now_exact);
  later_ms := {s}.after(now_exact, delay_ms);
  select array_agg(a.id) into closed
    from unnest(ids) i(id) join {s}.application a on a.id = i.id
    where a.tier = 'closed';
  select count(*), coalesce(sum(e.size_bytes), 0) into messages, bytes
    from unnest(owners, sizes) e(owner, size_bytes)
    where closed is null or e.owner <> all (closed);
  if messages > 0 then
    select w.messages, w.bytes into used_messages, used_bytes from {s}.waiting() w;
    if used_messages + messages > bound_messages then
      passed := 'maxPendingMessages';
      return;
    elsif used_bytes + bytes > bound_bytes then
      passed := 'maxPendingBytes';
      return;
    end if;
  end if;
  -- In one order everywhere: of two that bring in the same applications one waits for the other.
  insert into {s}.application (id, tier, max_messages, max_bytes, circuit_breaker)
    select i.id, new_tier, new_max_messages, new_max_bytes, new_circuit_breaker
      from unnest(ids) i(id)
      where not exists (select from {s}.application a where a.id = i.id)
      order by i.id
    on conflict do nothing;
  if later_ms > now_ms then
    -- Those of which this call alone has a full claim.
    select coalesce(array_agg(a.id), '{}') into undelayed
      from (select o.owner, count(*) as messages from unnest(owners) o(owner) group by o.owner) c
        join {s}.application a on a.id = c.owner
      where c.messages >= a.max_messages;
  end if;
  with entry as (
    select a.number as application, e.*, substring(contents from e.start + 1 for e.length) as content,
        case when e.owner = any (undelayed) then now_ms else later_ms end as due
      from unnest(owners, message_ids, formats, starts, lengths, date_ats, count_ats, sizes)
        with ordinality e(owner, message_id, format, start, length, date_at, count_at, size_bytes,
          place)
      join {s}.application a on a.id = e.owner
      where a.tier <> 'closed'
  ), stored as (
    insert into {s}.message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, content)
      select application, due, nextval('{s}.turn_number'), now_ms, size_bytes, 0, date_at,
          count_at, format, message_id, content
        from (select * from entry order by place) e
      returning application, due, sequence, size_bytes
  ), posted as (
    insert into {s}.posting (application, accepted, pending, pending_bytes, first_due, at,
        delayed_until)
      select application, count(*), count(*), sum(size_bytes), min(due), now_ms, max(due)
        from stored group by application order by min(sequence)
  )
  select array_agg(s.sequence order by s.sequence) into sequences from stored s;
end $$;`;
