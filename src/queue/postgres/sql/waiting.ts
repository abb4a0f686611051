/** How much waits in all, as the bounds count it. */
export const WAITING = `
create function {s}.waiting(out messages bigint, out bytes bigint) language sql as $$
  select sum(u.messages)::bigint, sum(u.bytes)::bigint from (
    select r.messages, r.bytes from {s}.room r
    union all select p.pending, p.pending_bytes from {s}.posting p) u
$$;`;
