/** Makes dead letters of messages that are not claimed, of an application whose row the caller holds. */
export const BURY = `
create function {s}.bury(
  app {s}.application, dues bigint[], sequences bigint[], why text, now_ms bigint
) returns table (application text, message_id text, sequence bigint) language plpgsql as $$
#variable_conflict use_column
declare
  over record;
begin
  return query
    with gone as (
      delete from {s}.message m using unnest(dues, sequences) k(due, sequence)
        where m.application = app.number and m.due = k.due and m.sequence = k.sequence
          and (app.claim is null or m.sequence <> all (app.claim_sequences))
        returning m.*
    ), buried as (
      insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
          date_at, count_at, format, message_id, reason, last_attempt, content)
        select g.application, g.accepted_at, now_ms, g.size_bytes, g.sends,
            g.date_at, g.count_at, g.format, g.message_id, why, 'null', g.content
          from (select * from gone order by due, sequence) g
    ), total as (
      select count(*) as messages, coalesce(sum(size_bytes), 0)::bigint as bytes from gone
    ), counted as (
      update {s}.application a set
          pending = a.pending - t.messages, pending_bytes = a.pending_bytes - t.bytes,
          dead = a.dead + t.messages
        from total t where a.number = app.number
    ), room as (
      update {s}.room r set messages = r.messages - t.messages, bytes = r.bytes - t.bytes
        from total t where r.shard = pg_backend_pid() % 64
    )
    select app.id, g.message_id, g.sequence from gone g;
  -- Nothing of it is due before that which was the first one.
  update {s}.application a set first_due = (
      select m.due from {s}.message m
        where m.application = app.number
          and m.due >= least(app.first_due, dues[1])
          and (app.claim is null or m.sequence <> all (app.claim_sequences))
        order by m.due, m.sequence limit 1)
    where a.number = app.number;
end $$;`;

/** Makes dead letters of at most \`most\` messages that were accepted longer ago and are not claimed. */
export const EXPIRE = `
create function {s}.expire(older_than_ms double precision, most bigint)
returns table (application text, message_id text, sequence bigint) language plpgsql {plans} as $$
#variable_conflict use_column
declare
  now_ms bigint := floor({s}.now_exact());
  too_old bigint := {s}.before(now_ms, older_than_ms);
  owners bigint[];
  dues bigint[];
  sequences bigint[];
  page record;
begin
  select array_agg(o.application), array_agg(o.due), array_agg(o.sequence)
    into owners, dues, sequences
    from (
      select m.application, m.due, m.sequence from {s}.message m
        join {s}.application a on a.number = m.application
        where m.accepted_at < too_old
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.accepted_at limit most) o;
  -- In one order everywhere, and all before the room is changed, which is locked last.
  perform {s}.hold(o.number) from (
    select distinct u.number from unnest(owners) u(number) order by u.number) o;
  for page in
    select k.application, array_agg(k.due order by k.due) as dues,
        array_agg(k.sequence order by k.due) as sequences
      from unnest(owners, dues, sequences) k(application, due, sequence) group by k.application
  loop
    return query select b.* from {s}.bury(
      {s}.hold(page.application), page.dues, page.sequences, 'horizon-passed', now_ms) b;
  end loop;
end $$;`;
