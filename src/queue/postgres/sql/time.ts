/** The one place where the time is read. In milliseconds, with fractions. */
export const NOW_EXACT = `
create function {s}.now_exact() returns double precision language sql volatile as $$
  select extract(epoch from clock_timestamp())::double precision * 1000
$$;`;

/** When so many milliseconds are over: rounded up, so that nothing comes sooner than was asked. Never is late enough. */
export const AFTER = `
create function {s}.after(now_exact double precision, ms double precision) returns bigint
language sql immutable as $$
  select (case when ms > 0 then ceil(least(now_exact + ms, 1e18)) else floor(now_exact) end)::bigint
$$;

-- As whole numbers: an index on them is of no use to what has fractions.
create function {s}.before(now_ms bigint, ms double precision) returns bigint
language sql immutable as $$
  select ceil(greatest(now_ms - ms, -1e18))::bigint
$$;`;
