-- Stores messages, all or none. Returns their sequences and the closed applications, or the bound that they would
-- have passed. `ids` has each application once; `owners` has the application of each message, as an index from 1.
create function {s}.enqueue(args json, contents bytea) returns json language plpgsql {plans} as $$
declare
  given record;
  ids text[];
  owners bigint[];
  sizes bigint[];
  open_numbers bigint[];
  closed text[];
  more_messages bigint;
  more_bytes bigint;
  answer json;
  now_exact double precision;
  now_ms bigint;
  later_ms bigint;
  undelayed bigint[] := '{}';
  sequences bigint[];
begin
  -- All in one query: each operator on `args` would parse all of it again.
  select * into given from json_to_record(args) j(
    ids json, owners json, sizes json, "messageIds" json, formats json, starts json, lengths json,
    "dateAts" json, "countAts" json, "delayMs" double precision, "initialState" json,
    "maxPendingMessages" bigint, "maxPendingBytes" bigint);
  ids := {s}.texts(given.ids);
  owners := {s}.numbers(given.owners);
  sizes := {s}.numbers(given.sizes);
  now_exact := {s}.now_exact();
  now_ms := floor(now_exact);
  later_ms := {s}.time_after(now_exact, given."delayMs");
  -- Read once: the call ignores applications that are closed or reopened while it runs.
  select array_agg(a.id) into closed
    from unnest(ids) i(id) join {s}.application a on a.id = i.id where a.health = 'closed';
  select count(*), coalesce(sum(e.size_bytes), 0) into more_messages, more_bytes
    from unnest(owners, sizes) e(owner, size_bytes)
    where closed is null or ids[e.owner] <> all (closed);
  answer := {s}.overflow(
    given."maxPendingMessages", given."maxPendingBytes", more_messages, more_bytes);
  if answer is not null then
    return answer;
  end if;
  -- Sorted, so that two transactions that add the same applications cannot deadlock.
  insert into {s}.application (id, health, max_messages, max_bytes, circuit_breaker)
    select i.id, s.*
      from unnest(ids) i(id), {s}.state_of(given."initialState") s
      where not exists (select from {s}.application a where a.id = i.id)
      order by i.id
    on conflict do nothing;
  -- In the order of `ids`; null for closed applications.
  open_numbers := array(
    select case when closed is null or a.id <> all (closed) then a.number end
      from unnest(ids) with ordinality i(id, place) join {s}.application a on a.id = i.id
      order by i.place);
  if later_ms > now_ms then
    -- Applications that this call alone gives a full claim.
    undelayed := array(
      select a.number
        from (select o.owner, count(*) as messages from unnest(owners) o(owner) group by o.owner) c
          join {s}.application a on a.number = open_numbers[c.owner]
        where c.messages >= a.max_messages);
  end if;
  with stored as (
    insert into {s}.message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, content)
      select e.application, case when e.application = any (undelayed) then now_ms else later_ms end,
          nextval('{s}.turn_number'), now_ms, e.size_bytes, 0, e.date_at, e.count_at, e.format,
          e.message_id, substring(contents from e.start + 1 for e.length)
        from (
          select open_numbers[e.owner] as application, e.*
            from unnest(owners, sizes, {s}.texts(given."messageIds"), {s}.numbers(given.formats),
                {s}.numbers(given.starts)::integer[], {s}.numbers(given.lengths)::integer[],
                {s}.numbers(given."dateAts"), {s}.numbers(given."countAts"))
              with ordinality e(owner, size_bytes, message_id, format, start, length, date_at,
                count_at, place)
            order by e.place) e
        where e.application is not null
      returning application, due, sequence, size_bytes
  ), counted as (
    insert into {s}.counter_delta (application, accepted, pending, pending_bytes, first_due, at,
        delayed_until)
      select application, count(*), count(*), sum(size_bytes), min(due), now_ms, max(due)
        from stored group by application order by min(sequence)
  )
  select array_agg(s.sequence order by s.sequence) into sequences from stored s;
  return json_build_object('sequences', coalesce(sequences, '{}'), 'closed', coalesce(closed, '{}'),
    'fsync', current_setting('fsync'), 'commit', current_setting('synchronous_commit'),
    'standbys', current_setting('synchronous_standby_names'));
end $$;
