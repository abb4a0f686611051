-- One row for each application: its counters, and for how long a message has been claimable.
create function {s}.stats(args json default null)
returns table (id text, tier text, accepted bigint, delivered bigint, pending bigint,
  pending_bytes bigint, dead bigint, purged bigint, waiting_ms bigint)
language sql volatile {path} as $$
  with delta as (
    select application, sum(accepted) as accepted, sum(pending) as pending,
        sum(pending_bytes) as pending_bytes, sum(dead) as dead, sum(purged) as purged,
        min(first_due) as first_due
      from {s}.counter_delta group by application
  ), at as (
    select floor({s}.now_exact())::bigint as now_ms
  )
  select a.id, a.tier, (a.accepted + coalesce(d.accepted, 0))::bigint, a.delivered,
      (a.pending + coalesce(d.pending, 0))::bigint,
      (a.pending_bytes + coalesce(d.pending_bytes, 0))::bigint,
      (a.dead + coalesce(d.dead, 0))::bigint, (a.purged + coalesce(d.purged, 0))::bigint,
      case
        when a.tier <> 'closed' and (a.claim is null or a.lease_end <= at.now_ms)
          and coalesce(a.first_due, d.first_due, a.claim_dues[1]) is not null
        then at.now_ms - greatest(a.not_before,
          least(a.first_due, d.first_due, a.claim_dues[1]))
      end
    from {s}.application a left join delta d on d.application = a.number cross join at
$$;

-- Counts the messages with sequences in the ranges that wait or are claimed.
create function {s}.count_pending(args json) returns bigint language sql stable {plans} as $$
  select coalesce(sum(c.messages), 0)::bigint
    from unnest({s}.numbers(args->'froms'), {s}.numbers(args->'tos')) r(first, last)
    cross join lateral (
      select count(*) as messages from {s}.message m where m.sequence between r.first and r.last) c
$$;

-- What a queue holds when it is opened, in one snapshot. A claimed message was due before.
create function {s}.backlog(args json) returns json language plpgsql {plans} as $$
declare
  now_ms bigint := floor({s}.now_exact());
begin
  return (
    select json_build_object('pendingMessages', p.messages, 'dueMessages', p.messages - l.messages,
        'lastSequence', (select coalesce(max(m.sequence), 0) from {s}.message m))
      from {s}.pending_now() p
      cross join (
        select coalesce(sum(c.messages), 0) as messages
          from {s}.application a cross join lateral (
            select count(*) as messages from {s}.message m
              where m.application = a.number and m.due > now_ms) c) l);
end $$;

create function {s}.pending_messages(args json) returns bigint language sql volatile {path} as $$
  select p.messages from {s}.pending_now() p
$$;
