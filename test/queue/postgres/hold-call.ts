/** An enqueue that stands still within its statement: a trigger waits for a lock that the test holds. */
import type pg from 'pg';
import type { Hold } from '../conformance/harness.ts';

const LOCK = 4711;

const TRIGGER = (literal: string): string => `
  create function security_events.held() returns trigger language plpgsql as $$
  begin
    if exists (select from security_events.application a where a.number = new.application and a.id = ${literal})
      then perform pg_advisory_xact_lock(${LOCK});
    end if;
    return new;
  end $$;
  create trigger held before insert on security_events.message
    for each row execute function security_events.held()`;

export async function holdCall(control: pg.Client, applicationId: string): Promise<Hold> {
  await control.query('select pg_advisory_lock($1)', [LOCK]);
  await control.query(TRIGGER(control.escapeLiteral(applicationId)));
  return {
    reached: async () => {
      for (;;) {
        const waiting = "select from pg_locks where locktype = 'advisory' and not granted";
        if ((await control.query(waiting)).rowCount !== 0) return;
      }
    },
    letGo: async () => {
      await control.query('select pg_advisory_unlock($1)', [LOCK]);
      await control.query('drop function security_events.held cascade');
    },
  };
}
