/** One row an application: its share of the ledger, and for how long it could have been claimed. */
export const STATS = `
create function {s}.stats()
returns table (id text, tier text, accepted bigint, delivered bigint, pending bigint,
  pending_bytes bigint, dead bigint, purged bigint, waiting_ms bigint)
language sql volatile {path} as $$
  with posted as (
    select application, sum(accepted) as accepted, sum(pending) as pending,
        sum(pending_bytes) as pending_bytes, sum(dead) as dead, sum(purged) as purged,
        min(first_due) as first_due
      from {s}.posting group by application
  ), at as (
    select floor({s}.now_exact())::bigint as now_ms
  )
  select a.id, a.tier, (a.accepted + coalesce(p.accepted, 0))::bigint, a.delivered,
      (a.pending + coalesce(p.pending, 0))::bigint,
      (a.pending_bytes + coalesce(p.pending_bytes, 0))::bigint,
      (a.dead + coalesce(p.dead, 0))::bigint, (a.purged + coalesce(p.purged, 0))::bigint,
      case
        when a.tier <> 'closed' and (a.claim is null or a.lease_end <= at.now_ms)
          and coalesce(a.first_due, p.first_due, a.claim_dues[1]) is not null
        then at.now_ms - greatest(a.not_before,
          least(a.first_due, p.first_due, a.claim_dues[1]))
      end
    from {s}.application a left join posted p on p.application = a.number cross join at
$$;`;

/** Counts the messages with sequences in the ranges that wait or are claimed. */
export const COUNT_PENDING = `
create function {s}.count_pending(froms bigint[], tos bigint[]) returns bigint
language sql stable {plans} as $$
  select coalesce(sum(c.messages), 0)::bigint from unnest(froms, tos) r(first, last)
    cross join lateral (
      select count(*) as messages from {s}.message m where m.sequence between r.first and r.last) c
$$;`;

/** What was there when the queue was opened. A claimed message was due before. */
export const BACKLOG = `
create function {s}.backlog(out due_messages bigint, out last_sequence bigint)
language plpgsql {plans} as $$
declare
  now_ms bigint := floor({s}.now_exact());
begin
  select (select w.messages from {s}.waiting() w) - coalesce(sum(l.messages), 0) into due_messages
    from {s}.application a cross join lateral (
      select count(*) as messages from {s}.message m
        where m.application = a.number and m.due > now_ms) l;
  select coalesce(max(m.sequence), 0) into last_sequence from {s}.message m;
end $$;`;
