/**
 * Stores messages, all or none. Tells which applications are closed and, where nothing was stored
 * for want of room, which bound would have been passed by how much.
 *
 * `ids` names each application once, the other arrays run along the entries. The last eight are null
 * where no entry comes from another queue.
 */
export const ENQUEUE = `
create function {s}.enqueue(
  ids text[], row_tier text, row_max_messages bigint, row_max_bytes bigint, row_lane text,
  row_linger_ms bigint, bound_messages bigint, bound_bytes bigint, contents bytea,
  owners text[], message_ids text[], formats smallint[], starts integer[], lengths integer[],
  date_ats integer[], count_ats integer[], sizes bigint[], senders text[], numbers bigint[],
  past_sends integer[], ages double precision[], due_ins double precision[], limits bigint[],
  progresses text[], reasons text[], endings text[], died_ats double precision[],
  out closed text[], out passed text, out messages bigint, out bytes bigint
) language plpgsql {plans} as $$
declare
  now_exact double precision;
  now_ms bigint;
  used_messages bigint;
  used_bytes bigint;
begin
  -- Closing an application waits for us, and we for it: what is open now stays so until we are done.
  lock table {s}.intake in row share mode;
  now_exact := {s}.now_exact();
  now_ms := floor(now_exact);
  select array_agg(a.id) into closed
    from unnest(ids) i(id) join {s}.application a on a.id = i.id
    where a.tier = 'closed';
  if closed is not null and reasons is not null then
    select array_agg(distinct e.owner) into closed from unnest(owners, reasons) e(owner, reason)
      where e.reason is null and e.owner = any (closed);
  end if;
  select count(*), coalesce(sum(e.size_bytes), 0) into messages, bytes
    from unnest(owners, sizes, reasons) e(owner, size_bytes, reason)
    where e.reason is null and (closed is null or e.owner <> all (closed));
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
  insert into {s}.application (id, tier, max_messages, max_bytes, lane, linger_ms)
    select i.id, row_tier, row_max_messages, row_max_bytes, row_lane, row_linger_ms
      from unnest(ids) i(id)
      where not exists (select from {s}.application a where a.id = i.id)
      order by i.id
    on conflict do nothing;
  with entry as (
    select a.number as application, a.tier, e.*, substring(contents from e.start + 1 for e.length) as content
      from unnest(owners, message_ids, formats, starts, lengths, date_ats, count_ats, sizes, senders,
        numbers, past_sends, ages, due_ins, limits, progresses, reasons, endings, died_ats)
        with ordinality e(owner, message_id, format, start, length, date_at, count_at, size_bytes,
          sender_id, number, sends, age_ms, due_in_ms, max_messages, progress, reason, ending,
          died_at, place)
      join {s}.application a on a.id = e.owner
  ), stored as (
    insert into {s}.message (application, due, sequence, accepted_at, number, size_bytes,
        max_messages, sends, date_at, count_at, format, message_id, sender_id, progress, content)
      select application, {s}.after(now_exact, coalesce(due_in_ms, 0)),
          nextval('{s}.turn_number'), now_ms - coalesce(age_ms, 0), number, size_bytes,
          max_messages, coalesce(sends, 0), date_at, count_at, format, message_id, sender_id,
          progress, content
        from (select * from entry where reason is null and tier <> 'closed' order by place) e
      returning application, due, sequence, size_bytes
  ), buried as (
    insert into {s}.dead_letter (application, accepted_at, died_at, number, size_bytes, sends,
        date_at, count_at, format, message_id, sender_id, reason, ending, content)
      select application, coalesce(died_at, now_ms) - age_ms, coalesce(died_at, now_ms), number,
          size_bytes, sends, date_at, count_at, format, message_id, sender_id, reason, ending,
          content
        from (select * from entry where reason is not null order by place) e
      returning application
  )
  insert into {s}.posting (application, accepted, pending, pending_bytes, dead, first_due)
    select c.application, count(*), count(c.due), sum(c.size_bytes), count(*) - count(c.due), min(c.due)
      from (
        select application, due, sequence, size_bytes from stored
        union all select application, null, null, 0 from buried) c
      group by c.application order by min(c.sequence);
end $$;`;
