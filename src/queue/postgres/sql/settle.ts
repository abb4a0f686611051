/**
 * Records a result for each message: `kinds` has a letter for each (v delivered, d dead, r retry), and
 * the arrays run along. Null: there is no such claim any more.
 */
export const SETTLE = `
create function {s}.settle(
  which bigint, claim_number bigint, kinds text, afters double precision[], limits bigint[],
  progresses text[], reasons text[], last_attempts text[], new_tier text, new_max_messages bigint,
  new_max_bytes bigint, new_circuit_breaker text, pause_ms double precision,
  out claimed bigint
) language plpgsql {plans} as $$
declare
  now_exact double precision;
  app {s}.application;
  over record;
  news record;
begin
  app := {s}.hold(which);
  if app.claim is distinct from claim_number or app.claim is null then
    return;
  end if;
  claimed := cardinality(app.claim_sequences);
  if claimed <> length(kinds) then
    return;
  end if;
  now_exact := {s}.now_exact();
  with result as (
    select * from unnest(app.claim_dues, app.claim_sequences, string_to_array(kinds, null), afters,
      limits, progresses, reasons, last_attempts)
      v(due, sequence, kind, after_ms, max_messages, progress, reason, last_attempt)
  ), gone as (
    delete from {s}.message m using result v
      where m.application = which and m.due = v.due and m.sequence = v.sequence and v.kind <> 'r'
      returning m.*, v.kind, v.reason, v.last_attempt
  ), buried as (
    insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
        date_at, count_at, format, message_id, reason, last_attempt, content)
      select which, accepted_at, floor(now_exact), size_bytes, sends + 1,
          date_at, count_at, format, message_id, reason, last_attempt, content
        from (select * from gone where kind = 'd' order by due, sequence) g
  ), retried as (
    update {s}.message m set
        due = case when v.after_ms > 0 then {s}.after(now_exact, v.after_ms) else m.due end,
        sends = m.sends + 1, max_messages = v.max_messages, progress = v.progress
      from result v
      where m.application = which and m.due = v.due and m.sequence = v.sequence and v.kind = 'r'
  )
  select count(*) as messages, coalesce(sum(size_bytes), 0)::bigint as bytes,
      count(*) filter (where kind = 'v') as delivered, count(*) filter (where kind = 'd') as dead
    into over from gone;
  news := {s}.take_postings(which);
  update {s}.application a set
      claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
      tier = case when a.tier = 'closed' then a.tier else new_tier end,
      max_messages = new_max_messages, max_bytes = new_max_bytes, 
      circuit_breaker = new_circuit_breaker,
      not_before = {s}.after(now_exact, pause_ms),
      served_at = floor(now_exact), turn = nextval('{s}.turn_number'),
      accepted = a.accepted + news.accepted,
      pending = a.pending + news.pending - over.messages,
      pending_bytes = a.pending_bytes + news.pending_bytes - over.bytes,
      delivered = a.delivered + over.delivered,
      dead = a.dead + news.dead + over.dead,
      purged = a.purged + news.purged,
      delayed_until = greatest(a.delayed_until, news.delayed_until),
      first_due = (
        select m.due from {s}.message m
          where m.application = which
            and m.due >= least(app.first_due, app.claim_dues[1], news.first_due)
          order by m.due, m.sequence limit 1)
    where a.number = which;
  perform {s}.end_delays(a, coalesce(news.at, floor(now_exact)::bigint))
    from {s}.application a where a.number = which;
  perform {s}.take_room(news.pending - over.messages, news.pending_bytes - over.bytes);
end $$;`;

/** Of the row that the caller holds. */
export const TAKE_POSTINGS = `
create function {s}.take_postings(
  which bigint, out accepted bigint, out pending bigint, out pending_bytes bigint, out dead bigint,
  out purged bigint, out first_due bigint, out at bigint, out delayed_until bigint
) language plpgsql as $$
#variable_conflict use_column
begin
  with taken as (
    delete from {s}.posting p where p.sequence in (
      select sequence from {s}.posting where application = which for update skip locked)
    returning p.*
  )
  select coalesce(sum(t.accepted), 0), coalesce(sum(t.pending), 0),
      coalesce(sum(t.pending_bytes), 0), coalesce(sum(t.dead), 0), coalesce(sum(t.purged), 0),
      min(t.first_due), max(t.at), max(t.delayed_until)
    into accepted, pending, pending_bytes, dead, purged, first_due, at, delayed_until
    from taken t;
end $$;`;

/** Gives room back where the numbers are negative. The last lock that a transaction takes. */
export const TAKE_ROOM = `
create function {s}.take_room(more_messages bigint, more_bytes bigint) returns void
language plpgsql as $$
begin
  if more_messages <> 0 or more_bytes <> 0 then
    update {s}.room set messages = messages + more_messages, bytes = bytes + more_bytes
      where shard = pg_backend_pid() % 64;
  end if;
end $$;`;
