/** How much waits in all, as the bounds count it. */
export const WAITING = `
create function {s}.waiting(out messages bigint, out bytes bigint) language plpgsql {path} as $$
begin
  select sum(u.messages), sum(u.bytes) into waiting.messages, waiting.bytes from (
    select r.messages, r.bytes from {s}.room r
    union all select p.pending, p.pending_bytes from {s}.posting p) u;
end $$;`;
