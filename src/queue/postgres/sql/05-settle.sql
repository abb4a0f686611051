-- Ends claims, and writes the state of an application if one is given. Returns the size of each claim, and
-- whether more of its application waits; null for one that is lost. `kinds` has a letter for the result of each message (v delivered, d dead, r retry),
-- and the other arrays run along; nothing changes if that is not the number of messages. Without `kinds`
-- nothing was sent, and the messages are due as before.
create function {s}.settle(args json) returns json language plpgsql {plans} as $$
declare
  now_exact double precision;
  settled record;
begin
  if json_array_length(args->'claims') > 1 then
    -- One application that is locked for long must not hold up the others: the caller settles each alone.
    perform set_config('lock_timeout', '500ms', true);
  end if;
  -- Sorted, so that two transactions that lock the same applications cannot deadlock.
  perform {s}.lock_application(c.number) from (
    select distinct g.number from json_to_recordset(args->'claims') g(number bigint) order by 1) c;
  now_exact := {s}.now_exact();
  with given as (
    select * from rows from (json_to_recordset(args->'claims') as (number bigint, claim bigint,
        kinds text, afters json, limits json, progresses json, reasons json, "lastAttempts" json,
        state json, "pauseMs" double precision))
      with ordinality g(number, claim, kinds, afters, limits, progresses, reasons, last_attempts,
        state, pause_ms, place)
  ), found as (
    select g.*, a.claim_dues, a.claim_sequences, cardinality(a.claim_sequences) as messages
      from given g join {s}.application a on a.number = g.number and a.claim = g.claim
  ), live as (
    -- A claim is settled once.
    select distinct on (f.number) f.* from found f
      where f.kinds is null or length(f.kinds) = f.messages order by f.number, f.place
  ), result as (
    select l.number as application, v.*
      from live l cross join lateral unnest(l.claim_dues, l.claim_sequences,
          string_to_array(l.kinds, null), {s}.numbers(l.afters), {s}.numbers(l.limits),
          {s}.texts(l.progresses), {s}.texts(l.reasons), {s}.texts(l.last_attempts))
        v(due, sequence, kind, after_ms, max_messages, progress, reason, last_attempt)
      where l.kinds is not null
  ), dead as (
    insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
        date_at, count_at, format, message_id, reason, last_attempt, content)
      select m.application, m.accepted_at, floor(now_exact), m.size_bytes, m.sends + 1,
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
        sends = m.sends + 1, max_messages = v.max_messages, progress = v.progress
      from result v
      where m.application = v.application and m.due = v.due and m.sequence = v.sequence
        and v.kind = 'r'
      returning m.application, m.due
  ), released as (
    update {s}.application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        tier = case when a.tier = 'closed' then a.tier else coalesce(s.tier, a.tier) end,
        max_messages = coalesce(s.max_messages, a.max_messages),
        max_bytes = coalesce(s.max_bytes, a.max_bytes),
        circuit_breaker = coalesce(s.circuit_breaker, a.circuit_breaker),
        not_before = case when s.tier is null then a.not_before
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
