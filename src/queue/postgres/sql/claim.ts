/**
 * Claims for one POST. `messages` is JSON, one array a message, and `content` their bytes one after
 * the other. Where nothing can be claimed `claim` is null, `due_in` tells when something of these
 * tiers will be, and `unfolded` that there are postings, which may change that.
 */
export const CLAIM = `
create function {s}.claim(
  tiers text[], most_messages bigint, most_bytes bigint, lease_ms double precision,
  out claim text, out application text, out tier text, out max_messages bigint,
  out max_bytes bigint, out circuit_breaker text, out now_ms bigint, out messages text, out content bytea,
  out due_in bigint, out unfolded boolean
) language plpgsql {plans} as $$
#variable_conflict use_column
declare
  now_exact double precision;
  candidate bigint;
  app {s}.application;
  taken record;
  next_due bigint;
  claim_number bigint;
  has_waited boolean := false;
begin
  unfolded := exists (select from {s}.posting);
  loop
    now_exact := {s}.now_exact();
    now_ms := floor(now_exact);
    candidate := {s}.next_application(tiers, now_ms);
    if candidate is null then
      due_in := null;
      select h.number, h.ready_at - now_ms into candidate, due_in from unnest(tiers) t(tier)
        cross join lateral (
          select a.number, a.ready_at from {s}.application a
            where a.tier = t.tier and a.ready_at is not null
            order by a.ready_at, a.turn limit 1) h
        order by h.ready_at limit 1;
      if has_waited or due_in is null or due_in > 0 then
        return;
      end if;
      -- All that is ready is held by others, who may be about to let go of it.
      has_waited := true;
    end if;
    app := {s}.hold(candidate);
    continue when app.claim is not null or app.ready_at is null or app.ready_at > now_ms
      or app.tier <> all (tiers);
    taken := {s}.next_messages(app, least(most_messages, app.max_messages),
      least(most_bytes, app.max_bytes), now_ms);
    if taken.dues is null then
      -- What it was said to have is gone: closed, expired, or claimed before it was added up.
      update {s}.application a set first_due = (
          select m.due from {s}.message m where m.application = candidate
            order by m.due, m.sequence limit 1)
        where a.number = candidate;
      continue;
    end if;
    exit;
  end loop;
  select m.due into next_due from {s}.message m
    where m.application = candidate and (m.due, m.sequence) >
      (taken.dues[cardinality(taken.dues)], taken.sequences[cardinality(taken.dues)])
    order by m.due, m.sequence limit 1;
  claim_number := nextval('{s}.turn_number');
  update {s}.application a set
      claim = claim_number, lease_end = {s}.after(now_exact, lease_ms), first_due = next_due,
      claim_dues = taken.dues, claim_sequences = taken.sequences
    where a.number = candidate;
  claim := candidate || '-' || claim_number;
  application := app.id;
  tier := app.tier;
  max_messages := app.max_messages;
  max_bytes := app.max_bytes;
  circuit_breaker := app.circuit_breaker;
  messages := taken.messages;
  content := taken.content;
end $$;`;

/** Whose turn it is, of those that nobody else holds: its row is locked. */
export const NEXT_APPLICATION = `
create function {s}.next_application(tiers text[], now_ms bigint) returns bigint
language plpgsql as $$
declare
  found_number bigint;
  next_tier text;
begin
  for next_tier in
    select t.tier from unnest(tiers) t(tier)
      cross join lateral (
        select a.ready_at, a.turn from {s}.application a
          where a.tier = t.tier and a.ready_at <= now_ms
          order by a.ready_at, a.turn limit 1) h
      order by h.ready_at, h.turn
  loop
    select a.number into found_number from {s}.application a
      where a.tier = next_tier and a.ready_at <= now_ms
      order by a.ready_at, a.turn limit 1 for no key update skip locked;
    exit when found_number is not null;
  end loop;
  return found_number;
end $$;`;

/** The messages of a claim: the longest beginning of what is due that keeps to every limit. */
export const NEXT_MESSAGES = `
create function {s}.next_messages(
  app {s}.application, most_messages bigint, most_bytes bigint, now_ms bigint,
  out dues bigint[], out sequences bigint[], out messages text, out content bytea
) language plpgsql as $$
#variable_conflict use_column
begin
  select array_agg(m.due order by m.due, m.sequence),
      array_agg(m.sequence order by m.due, m.sequence),
      json_agg(json_build_array(m.sequence, m.message_id, m.format, octet_length(m.content),
        m.date_at, m.count_at, m.sends, now_ms - m.accepted_at, m.progress::json)
        order by m.due, m.sequence)::text,
      string_agg(m.content, ''::bytea order by m.due, m.sequence)
    into dues, sequences, messages, content
    from (
      select d.*, row_number() over due_order as place, sum(d.size_bytes) over due_order as bytes,
          min(d.max_messages) over due_order as own_limit,
          min(d.format) over due_order = max(d.format) over due_order as is_one_format
        from (
          select * from {s}.message
            where application = app.number and due >= app.first_due and due <= now_ms
            order by due, sequence limit greatest(1, most_messages)) d
        window due_order as (order by d.due, d.sequence rows unbounded preceding)) m
    where m.place = 1 or (m.place <= least(most_messages, m.own_limit) and m.bytes <= most_bytes
      and m.is_one_format);
end $$;`;
