import { EventEmitter, once } from 'node:events';
import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import type { Connection } from '../../../src/webhook/http/connection.ts';
import { createConnectionPool } from '../../../src/webhook/http/pool.ts';

const TEN_MINUTES_MS = 600_000;

interface FakeConnection extends Connection {
  isConnected: boolean;
  destroyCount: number;
  beginCount: number;
  lose(): void;
}

/** A pool of fake connections on a stopped clock. */
function poolOf(maxIdle = 9) {
  const made: FakeConnection[] = [];
  let nowMs = 5;
  const destroying = new EventEmitter();
  let isSlow = false;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const pool = createConnectionPool(clock, maxIdle);
  const lease = (key = 'a') =>
    pool.lease(key, (onLost) => {
      const line: FakeConnection = {
        dispatcher: { name: made.length } as unknown as Dispatcher,
        isConnected: true,
        destroyCount: 0,
        beginCount: 0,
        begin: () => {
          line.beginCount += 1;
          const reusedConnection = line.beginCount > 1;
          return () => ({ phases: {}, reusedConnection });
        },
        destroy: async () => {
          line.destroyCount += 1;
          if (isSlow) await once(destroying, 'resume');
        },
        lose: () => {
          line.isConnected = false;
          onLost();
        },
      };
      made.push(line);
      return line;
    });
  return {
    pool,
    lease,
    made,
    advance: (ms: number) => (nowMs += ms),
    destroyed: () => made.map(({ destroyCount }) => destroyCount),
    delayDestroying: () => (isSlow = true),
    resumeDestroying: () => destroying.emit('resume'),
  };
}

describe('a pool of connections', () => {
  test('leases a connection for each concurrent request, and reuses it later', () => {
    const { lease, made } = poolOf();
    const [first, second] = [lease(), lease()];
    expect(first.dispatcher).not.toBe(second.dispatcher);
    first.end('clean');
    second.end('clean');
    const again = [lease(), lease()];
    expect(again.map(({ dispatcher }) => dispatcher)).toEqual([
      second.dispatcher,
      first.dispatcher,
    ]);
    expect(again.map((one) => one.connectInfo().reusedConnection)).toEqual([true, true]);
    expect(made).toHaveLength(2);
  });

  test('destroys a broken connection, and one that was lost while in use', () => {
    const { lease, made, destroyed } = poolOf();
    lease().end('broken');
    const lost = lease();
    made[1]?.lose();
    expect(destroyed()).toEqual([1, 0]);
    lost.end('clean');
    expect(destroyed()).toEqual([1, 1]);
    lease();
    expect(made).toHaveLength(3);
  });

  test('destroys an idle connection as soon as it is lost', () => {
    const { lease, made, destroyed } = poolOf();
    lease().end('clean');
    made[0]?.lose();
    expect(destroyed()).toEqual([1]);
    lease();
    expect(made).toHaveLength(2);
  });

  test('destroys the longest idle connection when there are too many', () => {
    const { lease, destroyed } = poolOf(2);
    const leases = [lease('a'), lease('b'), lease('c')];
    leases[1]?.end('clean');
    leases[0]?.end('clean');
    expect(destroyed()).toEqual([0, 0, 0]);
    leases[2]?.end('clean');
    expect(destroyed()).toEqual([0, 1, 0]);
  });

  test.each([
    ['of ten minutes is kept', TEN_MINUTES_MS, [0]],
    ['older than ten minutes is destroyed when it is returned', TEN_MINUTES_MS + 1, [1]],
  ])('keeps connections young: one %s', (_what, ageMs, expected) => {
    const { lease, advance, destroyed } = poolOf();
    lease().end('clean');
    const again = lease();
    advance(ageMs);
    expect(destroyed()).toEqual([0]);
    again.end('clean');
    expect(destroyed()).toEqual(expected);
  });

  test('closes when every connection is destroyed: idle, in use or discarded', async () => {
    const { pool, lease, destroyed, delayDestroying, resumeDestroying } = poolOf();
    delayDestroying();
    lease('a').end('clean');
    lease('b');
    lease('c').end('broken');
    let isClosed = false;
    const closing = Promise.all([pool.close(), pool.close()]).then(() => {
      isClosed = true;
    });
    await nextTurn();
    expect(destroyed()).toEqual([1, 1, 1]);
    expect(isClosed).toBe(false);
    resumeDestroying();
    await closing;
  });
});
