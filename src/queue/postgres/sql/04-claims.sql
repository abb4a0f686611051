-- Makes up to `count` claims, each for one request. `claimed_messages` returns their messages, in another
-- transaction: a dispatcher that stops while it reads them must not hold locks. If there are fewer claims,
-- `dueIn` is the time until a message can be claimed. `hasDeltas`: counter deltas can make that earlier.
create function {s}.claim(args json) returns json language plpgsql {plans}
set lock_timeout = '500ms' as $$
#variable_conflict use_variable
declare
  of_health text[] := {s}.texts(args->'ofHealth');
  has_deltas boolean := exists (select from {s}.counter_delta);
  has_waited boolean := false;
  now_exact double precision;
  now_ms bigint;
  head record;
  first_number bigint;
  candidate bigint;
  due_in bigint;
  app {s}.application;
  taken record;
  next_due bigint;
  claim_number bigint;
  claims json[] := '{}';
begin
  while cardinality(claims) < (args->>'count')::integer loop
    now_exact := {s}.now_exact();
    now_ms := floor(now_exact);
    first_number := null;
    due_in := null;
    candidate := null;
    -- Begins with the health of the application whose turn it is, and locks its first application that nobody else
    -- has locked.
    for head in
      select t.health, h.number, h.ready_at from unnest(of_health) t(health) cross join lateral (
          select a.number, a.ready_at, a.turn from {s}.application a
            where a.health = t.health and a.ready_at is not null order by a.ready_at, a.turn limit 1) h
        order by h.ready_at, h.turn
    loop
      first_number := coalesce(first_number, head.number);
      due_in := coalesce(due_in, head.ready_at - now_ms);
      exit when head.ready_at > now_ms;
      select a.number into candidate from {s}.application a
        where a.health = head.health and a.ready_at <= now_ms
        order by a.ready_at, a.turn limit 1 for no key update skip locked;
      exit when candidate is not null;
    end loop;
    if candidate is null then
      -- Does not wait for a lock while it has claims, which others may wait for.
      exit when has_waited or due_in is null or due_in > 0 or cardinality(claims) > 0;
      -- Other transactions have locked all ready applications, but may end soon.
      has_waited := true;
      candidate := first_number;
    end if;
    app := {s}.lock_application(candidate);
    continue when app.claim is not null or app.ready_at is null or app.ready_at > now_ms
      or app.health <> all (of_health);
    taken := {s}.next_messages(app, least((args->>'maxMessages')::bigint, app.max_messages),
      least((args->>'maxBytes')::bigint, app.max_bytes), now_ms);
    if taken.dues is null then
      -- Its first message no longer waits, or was claimed before its counter delta was added.
      update {s}.application a set first_due = (
          select m.due from {s}.message m where m.application = candidate
            order by m.due, m.sequence limit 1)
        where a.number = candidate;
      continue;
    end if;
    select m.due into next_due from {s}.message m
      where m.application = candidate and (m.due, m.sequence) >
        (taken.dues[cardinality(taken.dues)], taken.sequences[cardinality(taken.dues)])
      order by m.due, m.sequence limit 1;
    -- Not from a sequence: after a failover that lost transactions, a number could be used again.
    claim_number := floor(random() * 9e15);
    update {s}.application a set
        claim = claim_number, lease_end = {s}.time_after(now_exact, (args->>'leaseMs')::double precision),
        first_due = next_due, claim_dues = taken.dues, claim_sequences = taken.sequences
      where a.number = candidate;
    claims := array_append(claims, json_build_object('number', candidate, 'claim', claim_number,
      'application', app.id, 'health', app.health, 'maxMessages', app.max_messages,
      'maxBytes', app.max_bytes, 'circuitBreaker', app.circuit_breaker, 'nowMs', now_ms));
  end loop;
  if cardinality(claims) = 0 and {s}.keep_time() then
    due_in := 0;
  end if;
  return json_build_object('claims', claims, 'dueIn', due_in, 'hasDeltas', has_deltas);
end $$;

-- Selects the messages of a claim: the first due ones that fit all limits.
create function {s}.next_messages(
  app {s}.application, most_messages bigint, most_bytes bigint, now_ms bigint,
  out dues bigint[], out sequences bigint[]
) language plpgsql as $$
#variable_conflict use_column
declare
  whole record;
begin
  select array_agg(d.due) as dues, array_agg(d.sequence) as sequences, count(*) as messages,
      sum(d.size_bytes) as bytes, min(d.max_messages) as own_limit,
      min(d.format) = max(d.format) as is_one_format
    into whole
    from (
      select due, sequence, size_bytes, max_messages, format from {s}.message
        where application = app.number and due >= app.first_due and due <= now_ms
        order by due, sequence limit greatest(1, most_messages)) d;
  if whole.messages <= least(most_messages, whole.own_limit) and whole.bytes <= most_bytes
    and whole.is_one_format then
    dues := whole.dues;
    sequences := whole.sequences;
    return;
  end if;
  -- Not all fit: selects those before the first that does not.
  select array_agg(m.due), array_agg(m.sequence) into dues, sequences
    from (
      select d.*, row_number() over due_order as place, sum(d.size_bytes) over due_order as bytes,
          min(d.max_messages) over due_order as own_limit,
          min(d.format) over due_order = max(d.format) over due_order as is_one_format
        from (
          select k.due, k.sequence, m.size_bytes, m.max_messages, m.format
            from unnest(whole.dues, whole.sequences) k(due, sequence)
            join {s}.message m on m.application = app.number and m.due = k.due
              and m.sequence = k.sequence) d
        window due_order as (order by d.due, d.sequence rows unbounded preceding)
        order by d.due, d.sequence) m
    where m.place = 1 or (m.place <= least(most_messages, m.own_limit) and m.bytes <= most_bytes
      and m.is_one_format);
end $$;

-- Returns the messages of live claims, with the claim's place in the arrays; none of a lost claim. It is read by a
-- binary COPY, where each column has the size of its type.
create function {s}.claimed_messages(numbers bigint[], claims bigint[])
returns table (place integer, sequence double precision, sends integer, accepted_at double precision,
  format integer, date_at integer, count_at integer, message_id text, retry_state text, content bytea)
language plpgsql stable {plans} as $$
begin
  return query
    select k.place::integer, m.sequence::double precision, m.sends, m.accepted_at::double precision,
        m.format::integer, m.date_at, m.count_at, m.message_id, coalesce(m.retry_state, 'null'), m.content
      from unnest(numbers, claims) with ordinality k(number, claim, place)
      join {s}.application a on a.number = k.number and a.claim = k.claim
      cross join lateral unnest(a.claim_dues, a.claim_sequences)
        with ordinality c(due, sequence, place)
      cross join lateral (
        -- `offset 0` makes the planner look up each message by its whole key.
        select * from {s}.message m
          where m.application = a.number and m.due = c.due and m.sequence = c.sequence offset 0) m
      order by k.place, c.place;
end $$;

-- Extends a lease. Returns whether the claim was live.
create function {s}.extend(args json) returns boolean language plpgsql {plans} as $$
declare
  application_number bigint := args->>'number';
  app {s}.application;
begin
  app := {s}.lock_application(application_number);
  if app.claim is distinct from (args->>'claim')::bigint or app.claim is null then
    return false;
  end if;
  update {s}.application
    set lease_end = {s}.time_after({s}.now_exact(), (args->>'leaseMs')::double precision)
    where number = application_number;
  return true;
end $$;

-- Ends claims, and writes the states of their applications if there are any. `kinds` has a letter for the result of
-- each message (v delivered, d dead, r retry), and the other arrays have an element for each. With another number
-- of results a claim is not changed. Without `kinds` it is released: its messages are due as before. Returns for
-- each claim the number of its messages, and whether more wait; null for a lost claim.
create function {s}.settle(args json) returns json language plpgsql {plans} as $$
declare
  now_exact double precision;
  settled record;
begin
  if json_array_length(args->'claims') > 1 then
    -- A locked application must not delay the others: after this time the caller settles each claim alone.
    perform set_config('lock_timeout', '500ms', true);
  end if;
  -- Sorted, so that two transactions that lock the same applications cannot deadlock.
  perform {s}.lock_application(c.number) from (
    select distinct g.number from json_to_recordset(args->'claims') g(number bigint) order by 1) c;
  now_exact := {s}.now_exact();
  with given as (
    select * from rows from (json_to_recordset(args->'claims') as (number bigint, claim bigint,
        kinds text, afters json, limits json, "retryStates" json, reasons json, "lastAttempts" json,
        state json, "pauseMs" double precision))
      with ordinality g(number, claim, kinds, afters, limits, retry_states, reasons, last_attempts,
        state, pause_ms, place)
  ), found as (
    select g.*, a.claim_dues, a.claim_sequences, cardinality(a.claim_sequences) as messages
      from given g join {s}.application a on a.number = g.number and a.claim = g.claim
  ), live as (
    -- A claim that is named twice is settled once.
    select distinct on (f.number) f.* from found f
      where f.kinds is null or length(f.kinds) = f.messages order by f.number, f.place
  ), result as (
    select l.number as application, v.*
      from live l cross join lateral unnest(l.claim_dues, l.claim_sequences,
          string_to_array(l.kinds, null), {s}.numbers(l.afters), {s}.numbers(l.limits),
          {s}.texts(l.retry_states), {s}.texts(l.reasons), {s}.texts(l.last_attempts))
        v(due, sequence, kind, after_ms, max_messages, retry_state, reason, last_attempt)
      where l.kinds is not null
  ), dead as (
    insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
        date_at, count_at, format, message_id, reason, last_attempt, content)
      select m.application, {s}.server_time(m.accepted_at),
          {s}.server_time(floor(now_exact)::bigint), m.size_bytes, m.sends + 1,
          m.date_at, m.count_at, m.format, m.message_id, v.reason, v.last_attempt, m.content
        from result v join {s}.message m
          on m.application = v.application and m.due = v.due and m.sequence = v.sequence
        where v.kind = 'd' order by m.due, m.sequence
  ), ended as (
    delete from {s}.message m using result v
      where m.application = v.application and m.due = v.due and m.sequence = v.sequence
        and v.kind <> 'r'
      returning m.application, m.size_bytes, v.kind
  ), gone as (
    select e.application, count(*) as messages, sum(e.size_bytes)::bigint as bytes,
        count(*) filter (where e.kind = 'v') as delivered,
        count(*) filter (where e.kind = 'd') as dead
      from ended e group by e.application
  ), retried as (
    update {s}.message m set
        due = case when v.after_ms > 0 then {s}.time_after(now_exact, v.after_ms) else m.due end,
        sends = m.sends + 1, max_messages = v.max_messages, retry_state = v.retry_state
      from result v
      where m.application = v.application and m.due = v.due and m.sequence = v.sequence
        and v.kind = 'r'
      returning m.application, m.due
  ), released as (
    update {s}.application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        health = case when a.health = 'closed' then a.health else coalesce(s.health, a.health) end,
        max_messages = coalesce(s.max_messages, a.max_messages),
        max_bytes = coalesce(s.max_bytes, a.max_bytes),
        circuit_breaker = coalesce(s.circuit_breaker, a.circuit_breaker),
        not_before = case when s.health is null then a.not_before
          else {s}.time_after(now_exact, l.pause_ms) end,
        served_at = floor(now_exact), turn = nextval('{s}.turn_number'),
        pending = a.pending - coalesce(g.messages, 0),
        pending_bytes = a.pending_bytes - coalesce(g.bytes, 0),
        delivered = a.delivered + coalesce(g.delivered, 0), dead = a.dead + coalesce(g.dead, 0),
        first_due = least(a.first_due,
          (select min(r.due) from retried r where r.application = l.number),
          case when l.kinds is null then l.claim_dues[1] end)
      from live l left join gone g on g.application = l.number
        cross join lateral {s}.state_of(l.state) s
      where a.number = l.number
      returning a.number, a.delayed_until, a.first_due is not null as is_waiting
  )
  select (select json_agg(
              case when l.place is not null or length(f.kinds) <> f.messages
                then json_build_object('size', f.messages, 'isWaiting', r.is_waiting) end
              order by g.place)
            from given g left join found f on f.place = g.place
              left join live l on l.place = g.place
              left join released r on r.number = l.number) as answers,
      (select array_agg(r.number) from released r where r.delayed_until > now_exact) as delayed,
      coalesce(sum(g.messages), 0)::bigint as messages, coalesce(sum(g.bytes), 0)::bigint as bytes
    into settled from gone g;
  perform {s}.end_delays(a, floor(now_exact)::bigint)
    from {s}.application a where a.number = any (settled.delayed);
  perform {s}.add_pending(-settled.messages, -settled.bytes);
  return settled.answers;
end $$;
