/** One row an application: its share of the ledger, and for how long it could have been claimed. */
export const STATS = `
create function {s}.stats()
returns table (id text, tier text, accepted bigint, delivered bigint, pending bigint,
  pending_bytes bigint, dead bigint, purged bigint, moved bigint, waiting_ms bigint)
language sql volatile {path} as $$
  with posted as (
    select application, sum(accepted) as accepted, sum(pending) as pending,
        sum(pending_bytes) as pending_bytes, sum(dead) as dead, sum(purged) as purged,
        sum(moved) as moved, min(first_due) as first_due
      from {s}.posting group by application
  ), at as (
    select floor({s}.now_exact())::bigint as now_ms
  )
  select a.id, a.tier, (a.accepted + coalesce(p.accepted, 0))::bigint, a.delivered,
      (a.pending + coalesce(p.pending, 0))::bigint,
      (a.pending_bytes + coalesce(p.pending_bytes, 0))::bigint,
      (a.dead + coalesce(p.dead, 0))::bigint, (a.purged + coalesce(p.purged, 0))::bigint,
      (a.moved + coalesce(p.moved, 0))::bigint,
      case
        when a.tier <> 'closed' and (a.claim is null or a.lease_end <= at.now_ms)
          and coalesce(a.first_due, p.first_due, a.claim_dues[1]) is not null
        then at.now_ms - greatest(a.not_before,
          least(a.first_due, p.first_due, a.claim_dues[1])
            + case when a.pending + coalesce(p.pending, 0) < a.max_messages
              then a.linger_ms else 0 end)
      end
    from {s}.application a left join posted p on p.application = a.number cross join at
$$;`;
