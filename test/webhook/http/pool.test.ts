import { EventEmitter, once } from 'node:events';
import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import type { Connection } from '../../../src/webhook/http/connection.ts';
import { createConnectionPool } from '../../../src/webhook/http/pool.ts';

const TEN_MINUTES_MS = 600_000;

interface Line extends Connection {
  isConnected: boolean;
  destroyCount: number;
  beginCount: number;
  lose(): void;
}

/** A pool over connections that are objects only, on a clock that stands still. */
function poolOf(maxIdle = 9) {
  const made: Line[] = [];
  let nowMs = 5;
  const destroying = new EventEmitter();
  let isSlow = false;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const pool = createConnectionPool(clock, maxIdle);
  const lease = (key = 'a') =>
    pool.lease(key, (onLost) => {
      const line: Line = {
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
          if (isSlow) await once(destroying, 'go on');
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
    holdDestroying: () => (isSlow = true),
    goOnDestroying: () => destroying.emit('go on'),
  };
}

describe('a pool of connections', () => {
  test('gives each request at the same time one of its own, and later ones those again', () => {
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

  test('shares none between keys', () => {
    const { lease, made } = poolOf();
    lease('a').end('clean');
    lease('b').end('clean');
    expect(made).toHaveLength(2);
    lease('a').end('clean');
    lease('b').end('clean');
    expect(made).toHaveLength(2);
  });

  test('destroys one that is broken, and one that was lost while in use', () => {
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

  test('destroys an idle one as soon as it is lost', () => {
    const { lease, made, destroyed } = poolOf();
    lease().end('clean');
    made[0]?.lose();
    expect(destroyed()).toEqual([1]);
    lease();
    expect(made).toHaveLength(2);
  });

  test('keeps so many idle ones and no more, and destroys the longest idle', () => {
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
    ['older than ten minutes is destroyed when it comes back', TEN_MINUTES_MS + 1, [1]],
  ])('one %s', (_what, ageMs, expected) => {
    const { lease, advance, destroyed } = poolOf();
    lease().end('clean');
    const again = lease();
    advance(ageMs);
    expect(destroyed()).toEqual([0]);
    again.end('clean');
    expect(destroyed()).toEqual(expected);
  });

  test('is closed when each is destroyed: idle, in use or just given up', async () => {
    const { pool, lease, destroyed, holdDestroying, goOnDestroying } = poolOf();
    holdDestroying();
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
    goOnDestroying();
    await closing;
  });

  test('has nothing to wait for where all was given up before', async () => {
    const { pool, lease, destroyed, holdDestroying } = poolOf();
    lease().end('broken');
    await nextTurn();
    holdDestroying();
    await pool.close();
    expect(destroyed()).toEqual([1]);
  });
});
