/** A server whose clock stands at 0 until `security_events.time` is updated, for a schema of the usual name. */
export const STANDING_CLOCK = `
  create table security_events.time (ms double precision not null);
  insert into security_events.time values (0);
  create or replace function security_events.now_exact() returns double precision
  language sql volatile as 'select ms from security_events.time';`;
