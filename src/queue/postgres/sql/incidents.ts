export const INCIDENT_TABLES = `
-- What was told of which incident. Keys and names are digests: they may be longer than an index takes.
create table {s}.incident (
  number bigint generated always as identity primary key,
  key bytea not null unique,
  started_at double precision not null,
  seen_at bigint not null,
  on_log boolean not null default false,
  on_webhook boolean not null default false
);

create index incident_seen_at on {s}.incident (seen_at);

create table {s}.incident_name (
  incident bigint not null references {s}.incident on delete cascade,
  channel text not null,
  name bytea not null,
  primary key (incident, channel, name)
);`;

/** Two texts, none of which holds a line break. */
export const INCIDENT_KEY = `
create function {s}.digest(one text, other text) returns bytea language sql immutable as $$
  select sha256(convert_to(one || E'\\n' || other, 'UTF8'))
$$;`;

/** Tells what is new, and has been told from now on. Forgets what was not told of for so long. */
export const TELL = `
create function {s}.tell(
  application text, incident text, channel text, at double precision, addresses text[],
  accounts text[], kept_ms double precision,
  out is_first boolean, out began_at double precision, out new_addresses text[],
  out new_accounts text[]
) language plpgsql {plans} as $$
#variable_conflict use_variable
declare
  which bytea := {s}.digest(application, incident);
  found_number bigint;
  now_ms bigint := floor({s}.now_exact());
  over_before bigint := {s}.before(now_ms, kept_ms);
begin
  -- A part of what is over at a time, however many names that has.
  with over as (
    select i.number from {s}.incident i where i.seen_at < over_before
      order by i.seen_at limit 10 for update skip locked
  ), names as (
    delete from {s}.incident_name n where (n.incident, n.channel, n.name) in (
      select m.incident, m.channel, m.name
        from over o join {s}.incident_name m on m.incident = o.number limit 1000)
  )
  delete from {s}.incident i where i.number in (select o.number from over o)
    and not exists (select from {s}.incident_name n where n.incident = i.number);
  -- One that is over and still there is another incident: nobody finds it by this key.
  update {s}.incident i set key = sha256(i.key || int8send(i.number))
    where i.key = which and i.seen_at < over_before;
  -- Of two at the same time one waits here for the other.
  insert into {s}.incident as i (key, started_at, seen_at) values (which, at, now_ms)
    on conflict (key) do update set seen_at = now_ms
    returning i.number, i.started_at,
      case when channel = 'log' then not i.on_log else not i.on_webhook end
    into found_number, began_at, is_first;
  if is_first then
    update {s}.incident i set on_log = i.on_log or channel = 'log',
        on_webhook = i.on_webhook or channel <> 'log'
      where i.number = found_number;
  end if;
  new_addresses := {s}.new_names(found_number, channel, 'ip', addresses);
  new_accounts := {s}.new_names(found_number, channel, 'account', accounts);
end $$;`;

/** Those that were not there, each once, in the order given. */
export const NEW_NAMES = `
create function {s}.new_names(which bigint, through text, kind text, names text[]) returns text[]
language plpgsql as $$
declare
  added bytea[];
begin
  with fresh as (
    insert into {s}.incident_name (incident, channel, name)
      select which, through, {s}.digest(kind, n.name) from unnest(names) n(name)
      on conflict do nothing returning name
  )
  select array_agg(name) into added from fresh;
  return array(
    select n.name from unnest(names) with ordinality n(name, place)
      where {s}.digest(kind, n.name) = any (added)
      group by n.name order by min(n.place));
end $$;`;

export const RETRACT = `
create function {s}.retract(
  application text, incident text, through text, was_first boolean, addresses text[],
  accounts text[]
) returns void language plpgsql {plans} as $$
declare
  which bigint;
begin
  select i.number into which from {s}.incident i
    where i.key = {s}.digest(application, retract.incident) for update;
  if was_first then
    update {s}.incident i set on_log = i.on_log and through <> 'log',
        on_webhook = i.on_webhook and through = 'log'
      where i.number = which;
  end if;
  delete from {s}.incident_name o
    where o.incident = which and o.channel = through and o.name in (
      select {s}.digest('ip', n.name) from unnest(addresses) n(name)
      union all select {s}.digest('account', n.name) from unnest(accounts) n(name));
end $$;`;
