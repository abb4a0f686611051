/**
 * Adds postings up in the rows of their applications, but for those that are just being changed, and
 * rings for other processes. Tells whether postings are left.
 *
 * Nobody waits for this to be on disk: after a crash of the server the postings are there again. It
 * is a transaction of its own for the sake of NOTIFY, too, which lets one commit at a time pass.
 */
export const FOLD = `
create function {s}.fold(channel text, caller text) returns boolean language plpgsql
{plans} as $$
declare
  held bigint[];
  delayed_numbers bigint[];
  delayed_ats bigint[];
  more_messages bigint;
  more_bytes bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  lock table {s}.folding in share update exclusive mode;
  select array_agg(number) into held from (
    select a.number from {s}.application a
      where a.number = any (array(
        select p.application from {s}.posting p order by p.sequence limit 10000))
      order by a.number for no key update skip locked) a;
  if held is not null then
    with taken as (
      delete from {s}.posting p where p.application = any (held) returning p.*
    ), total as (
      select application, min(sequence) as turn, min(first_due) as first_due,
          sum(accepted) as accepted, sum(pending) as pending, sum(pending_bytes) as pending_bytes,
          sum(dead) as dead, sum(purged) as purged, max(at) as at,
          max(delayed_until) as delayed_until
        from taken group by application
    ), added as (
      update {s}.application a set
          turn = case when a.ready_at is null then t.turn else a.turn end,
          first_due = least(a.first_due, t.first_due),
          accepted = a.accepted + t.accepted, pending = a.pending + t.pending,
          pending_bytes = a.pending_bytes + t.pending_bytes, dead = a.dead + t.dead,
          purged = a.purged + t.purged,
          delayed_until = greatest(a.delayed_until, t.delayed_until)
        from total t where a.number = t.application
        returning a.number, t.at, a.delayed_until
    ), delayed as (
      select array_agg(number) as numbers, array_agg(at) as ats
        from added where delayed_until > at
    )
    select d.numbers, d.ats, t.pending, t.pending_bytes
      into delayed_numbers, delayed_ats, more_messages, more_bytes
      from delayed d, (
        select coalesce(sum(pending), 0)::bigint as pending,
            coalesce(sum(pending_bytes), 0)::bigint as pending_bytes
          from total) t;
    perform {s}.end_delays(a, d.at)
      from unnest(delayed_numbers, delayed_ats) d(number, at)
      join {s}.application a on a.number = d.number;
    perform {s}.take_room(more_messages, more_bytes);
  end if;
  if channel is not null then
    perform pg_notify(channel, caller);
  end if;
  return exists (select from {s}.posting);
end $$;`;
