import { describe, expect, test } from 'vitest';
import { withGracePeriod } from '../../../src/cli/dead/letters.ts';
import { CommandEnded } from '../../../src/cli/terminal.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { deferred } from '../../helpers/promises.ts';

function ending() {
  const clock = createFakeClock();
  const controller = new AbortController();
  const reason = new CommandEnded('interrupted');
  return { clock, signal: controller.signal, reason, end: () => controller.abort(reason) };
}

const hanging = (): Promise<never> => new Promise(() => {});

describe('withGracePeriod', () => {
  test('waits for work that finishes soon after the signal aborts', async () => {
    const around = ending();
    const { promise, resolve } = deferred();
    const called = withGracePeriod(promise, around);
    around.end();
    await around.clock.advance(1999);
    resolve();
    await expect(called).resolves.toBe(undefined);
  });

  test.each(['before', 'meanwhile'])(
    'rejects 2 s after the signal aborts if the work hangs: %s',
    async (when) => {
      const around = ending();
      if (when === 'before') around.end();
      const thrown: unknown[] = [];
      const called = withGracePeriod(hanging(), around).catch((error: unknown) =>
        thrown.push(error),
      );
      if (when === 'meanwhile') around.end();
      await around.clock.advance(1999);
      expect(thrown).toEqual([]);
      await around.clock.advance(1);
      await called;
      expect(thrown).toEqual([around.reason]);
    },
  );
});
