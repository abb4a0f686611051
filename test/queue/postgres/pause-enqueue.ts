/** Pauses an enqueue within its statement: a trigger waits for a lock that the test has. */
import { performance } from 'node:perf_hooks';
import type pg from 'pg';
import { onTestFinished } from 'vitest';
import type { Hold } from '../conformance/harness.ts';

const LOCK = 4711;

/** Maximum time until an enqueue waits for the lock, in milliseconds. */
const REACHED_MS = 20_000;

const WAITING = `select from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted`;

const TRIGGER = (literal: string): string => `
  create function security_events.paused() returns trigger language plpgsql as $$
  begin
    if exists (select from security_events.application a where a.number = new.application and a.id = ${literal})
      then perform pg_advisory_xact_lock(${LOCK});
    end if;
    return new;
  end $$;
  create trigger paused before insert on security_events.message
    for each row execute function security_events.paused()`;

export async function pauseEnqueue(control: pg.Client, applicationId: string): Promise<Hold> {
  let isHeld = true;
  const letGo = async (): Promise<void> => {
    if (!isHeld) return;
    isHeld = false;
    await control.query('select pg_advisory_unlock($1)', [LOCK]);
    await control.query('drop function if exists security_events.paused cascade');
  };
  await control.query('select pg_advisory_lock($1)', [LOCK]);
  // Also if the test fails: other tests would wait for the lock.
  onTestFinished(letGo);
  await control.query(TRIGGER(control.escapeLiteral(applicationId)));
  return {
    reached: async () => {
      const endsMs = performance.now() + REACHED_MS;
      while ((await control.query(WAITING)).rowCount === 0) {
        if (performance.now() > endsMs) throw new Error('no enqueue waits for the lock');
        await control.query('select pg_sleep(0.01)');
      }
    },
    letGo,
  };
}
