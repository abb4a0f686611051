-- The reported incidents. Keys and names are digests from the caller, since an index does not take long texts.
create table {s}.incident (
  number bigint generated always as identity primary key,
  key text not null unique,
  started_at double precision not null,
  seen_at bigint not null,
  on_log boolean not null default false,
  on_webhook boolean not null default false
);

create index incident_seen_at on {s}.incident (seen_at);

create table {s}.incident_name (
  incident bigint not null references {s}.incident on delete cascade,
  channel text not null,
  name text not null,
  primary key (incident, channel, name)
);

-- Records a report, and returns its new names. Forgets incidents without a report for `retentionMs`.
create function {s}.report_incident(args json) returns json language plpgsql {plans} as $$
#variable_conflict use_variable
declare
  incident_key text := args->>'key';
  channel text := args->>'channel';
  found_number bigint;
  now_ms bigint := floor({s}.now_exact());
  expired_before bigint := {s}.time_before(now_ms, (args->>'retentionMs')::double precision);
  began_at double precision;
  is_first boolean;
  added json;
begin
  -- Deletes only some old incidents at a time, with at most 1000 names.
  with expired as (
    select i.number from {s}.incident i where i.seen_at < expired_before
      order by i.seen_at limit 10 for update skip locked
  ), names as (
    delete from {s}.incident_name n where (n.incident, n.channel, n.name) in (
      select m.incident, m.channel, m.name
        from expired e join {s}.incident_name m on m.incident = e.number limit 1000)
  )
  delete from {s}.incident i where i.number in (select e.number from expired e)
    and not exists (select from {s}.incident_name n where n.incident = i.number);
  -- A new incident with this key begins. The old row gets a key that no report has.
  update {s}.incident i set key = i.key || ' ' || i.number
    where i.key = incident_key and i.seen_at < expired_before;
  -- One of two simultaneous first reports waits here for the other.
  insert into {s}.incident as i (key, started_at, seen_at)
    values (incident_key, (args->>'at')::double precision, now_ms)
    on conflict (key) do update set seen_at = now_ms
    returning i.number, i.started_at,
      case when channel = 'log' then not i.on_log else not i.on_webhook end
    into found_number, began_at, is_first;
  if is_first then
    update {s}.incident i set on_log = i.on_log or channel = 'log',
        on_webhook = i.on_webhook or channel <> 'log'
      where i.number = found_number;
  end if;
  with fresh as (
    insert into {s}.incident_name (incident, channel, name)
      select found_number, channel, n.name from unnest({s}.texts(args->'names')) n(name)
      on conflict do nothing returning name
  )
  select coalesce(json_agg(name), '[]') into added from fresh;
  return json_build_object('isFirst', is_first, 'startedAt', began_at, 'names', added);
end $$;

-- Undoes a report: its new names are new again. An incident that began again has another start.
create function {s}.retract_incident(args json) returns void language plpgsql {plans} as $$
#variable_conflict use_variable
declare
  incident_number bigint;
  channel text := args->>'channel';
begin
  select i.number into incident_number from {s}.incident i
    where i.key = args->>'key' and i.started_at = (args->>'startedAt')::double precision for update;
  if (args->>'isFirst')::boolean then
    update {s}.incident i set on_log = i.on_log and channel <> 'log',
        on_webhook = i.on_webhook and channel = 'log'
      where i.number = incident_number;
  end if;
  delete from {s}.incident_name o
    where o.incident = incident_number and o.channel = channel
      and o.name = any ({s}.texts(args->'names'));
end $$;
