-- Ends a claim, and writes the state of its application if one is given. Returns the size of the claim.
-- Null: the claim is lost. `kinds` has a letter for the result of each message (v delivered, d dead,
-- r retry), and the other arrays run along; nothing changes if that is not the number of messages. Without
-- `kinds` nothing was sent, and the messages are due as before.
create function {s}.settle(args json) returns bigint language plpgsql {plans} as $$
#variable_conflict use_variable
declare
  which bigint := args->>'number';
  kinds text := args->>'kinds';
  now_exact double precision;
  app {s}.application;
  claimed bigint;
  gone record;
begin
  app := {s}.lock_application(which);
  if app.claim is distinct from (args->>'claim')::bigint or app.claim is null then
    return null;
  end if;
  claimed := cardinality(app.claim_sequences);
  if claimed <> length(kinds) then
    return claimed;
  end if;
  now_exact := {s}.now_exact();
  with result as (
    select * from unnest(app.claim_dues, app.claim_sequences, string_to_array(kinds, null),
      {s}.numbers(args->'afters'), {s}.numbers(args->'limits'), {s}.texts(args->'progresses'),
      {s}.texts(args->'reasons'), {s}.texts(args->'lastAttempts'))
      v(due, sequence, kind, after_ms, max_messages, progress, reason, last_attempt)
  ), dead as (
    insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
        date_at, count_at, format, message_id, reason, last_attempt, content)
      select which, m.accepted_at, floor(now_exact), m.size_bytes, m.sends + 1,
          m.date_at, m.count_at, m.format, m.message_id, v.reason, v.last_attempt, m.content
        from result v
        join {s}.message m on m.application = which and m.due = v.due and m.sequence = v.sequence
        where v.kind = 'd' order by m.due, m.sequence
  ), ended as (
    delete from {s}.message m using result v
      where m.application = which and m.due = v.due and m.sequence = v.sequence and v.kind <> 'r'
      returning m.size_bytes, v.kind
  ), retried as (
    update {s}.message m set
        due = case when v.after_ms > 0 then {s}.time_after(now_exact, v.after_ms) else m.due end,
        sends = m.sends + 1, max_messages = v.max_messages, progress = v.progress
      from result v
      where m.application = which and m.due = v.due and m.sequence = v.sequence and v.kind = 'r'
      returning m.due
  )
  select count(*) as messages, coalesce(sum(size_bytes), 0)::bigint as bytes,
      count(*) filter (where kind = 'v') as delivered, count(*) filter (where kind = 'd') as dead,
      (select min(due) from retried) as first_due
    into gone from ended;
  update {s}.application a set
      claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
      tier = case when a.tier = 'closed' then a.tier else coalesce(s.tier, a.tier) end,
      max_messages = coalesce(s.max_messages, a.max_messages),
      max_bytes = coalesce(s.max_bytes, a.max_bytes),
      circuit_breaker = coalesce(s.circuit_breaker, a.circuit_breaker),
      not_before = case when s.tier is null then a.not_before
        else {s}.time_after(now_exact, (args->>'pauseMs')::double precision) end,
      served_at = floor(now_exact), turn = nextval('{s}.turn_number'),
      pending = a.pending - gone.messages, pending_bytes = a.pending_bytes - gone.bytes,
      delivered = a.delivered + gone.delivered, dead = a.dead + gone.dead,
      first_due = least(a.first_due, gone.first_due,
        case when kinds is null then app.claim_dues[1] end)
    from {s}.state_of(args->'state') s where a.number = which;
  perform {s}.end_delays(a, floor(now_exact)::bigint)
    from {s}.application a where a.number = which;
  perform {s}.add_pending(-gone.messages, -gone.bytes);
  return claimed;
end $$;
