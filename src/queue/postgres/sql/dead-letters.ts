/** The ids of a page of dead letters: all, or those of an application, or those that are named. */
export const LETTERS = `
create function {s}.letters(of_id text, named bigint[], behind bigint, most bigint) returns bigint[]
language plpgsql stable as $$
declare
  owner_number bigint;
begin
  if of_id is not null then
    select a.number into owner_number from {s}.application a where a.id = of_id;
    if owner_number is null then
      return '{}';
    end if;
  end if;
  if named is not null then
    return array(
      select d.id from {s}.dead_letter d
        where d.id = any (named) and d.id > behind and (of_id is null or d.application = owner_number)
        order by d.id limit most);
  elsif of_id is not null then
    return array(
      select d.id from {s}.dead_letter d where d.application = owner_number and d.id > behind
        order by d.id limit most);
  end if;
  return array(
    select d.id from {s}.dead_letter d where d.id > behind order by d.id limit most);
end $$;`;

/** Discards a page; tells how many there were, and the last id that was looked at. */
export const PURGE = `
create function {s}.purge(
  of_id text, named bigint[], behind bigint, most bigint,
  out discarded bigint, out looked_at bigint
) language plpgsql {plans} as $$
declare
  page bigint[] := {s}.letters(of_id, named, behind, most);
begin
  with gone as (
    delete from {s}.dead_letter d where d.id = any (page) returning d.application
  ), posted as (
    insert into {s}.posting (application, dead, purged)
      select g.application, -count(*), count(*) from gone g group by g.application
  )
  select count(*) into discarded from gone;
  if cardinality(page) = most then
    looked_at := page[cardinality(page)];
  end if;
end $$;`;

/** Makes a page due again: of open applications, the oldest, as many as there is room for. */
export const REPLAY = `
create function {s}.replay(
  of_id text, named bigint[], bound_messages bigint, bound_bytes bigint, behind bigint, most bigint,
  out replayed bigint, out looked_at bigint
) language plpgsql {plans} as $$
declare
  page bigint[];
  now_ms bigint;
  free_messages bigint;
  free_bytes bigint;
begin
  lock table {s}.intake in row share mode;
  page := {s}.letters(of_id, named, behind, most);
  now_ms := floor({s}.now_exact());
  select bound_messages - w.messages, bound_bytes - w.bytes into free_messages, free_bytes
    from {s}.waiting() w;
  with fitting as (
    select o.id from (
      select d.id, row_number() over oldest as messages, sum(d.size_bytes) over oldest as bytes
        from {s}.dead_letter d join {s}.application a on a.number = d.application
        where d.id = any (page) and a.tier <> 'closed'
        window oldest as (order by d.id rows unbounded preceding)) o
      where o.messages <= free_messages and o.bytes <= free_bytes
  ), gone as (
    delete from {s}.dead_letter d where d.id in (select id from fitting) returning d.*
  ), stored as (
    insert into {s}.message (application, due, sequence, accepted_at, size_bytes, sends,
        date_at, count_at, format, message_id, content)
      select application, now_ms, nextval('{s}.turn_number'), now_ms, size_bytes, sends,
          date_at, count_at, format, message_id, content
        from (select * from gone order by id) g
  ), posted as (
    insert into {s}.posting (application, pending, pending_bytes, dead, first_due, at)
      select g.application, count(*), sum(g.size_bytes), -count(*), now_ms, now_ms
        from gone g group by g.application order by min(g.id)
  )
  select count(*) into replayed from gone;
  if cardinality(page) = most then
    looked_at := page[cardinality(page)];
  end if;
end $$;`;

export const DEAD_LETTERS = `
create function {s}.dead_letters(of_id text, named bigint[], behind bigint, most bigint)
returns table (id bigint, application text, message_id text, format smallint, content bytea,
  date_at integer, count_at integer, size_bytes bigint,
  sends integer, reason text, last_attempt text, accepted_at bigint, died_at bigint)
language sql stable {plans} as $$
  select d.id, a.id, d.message_id, d.format, d.content, d.date_at, d.count_at, d.size_bytes,
      d.sends, d.reason, d.last_attempt, d.accepted_at, d.died_at
    from {s}.dead_letter d join {s}.application a on a.number = d.application
    where d.id = any ({s}.letters(of_id, named, behind, most)) order by d.id
$$;`;
