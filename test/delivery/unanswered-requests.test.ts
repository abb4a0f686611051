/** Requests without a response when `close` or `flush` ends: their reports say so (D83). */
import { describe, expect, test } from 'vitest';
import { deferred } from '../../src/runtime/deferred.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import type { AttemptResult } from '../../src/webhook/outcome.ts';
import { ENGINE_SHOP, openEngine } from '../helpers/fake-engine.ts';
import { message } from '../helpers/sender.ts';

const ANSWERED = {
  kind: 'response',
  status: 200,
  retryAfter: undefined,
  timings: { totalMs: 0 },
} as const;

const settings = (id: string) => ({ ...ENGINE_SHOP, url: `https://receiver.example/${id}` });

/** Opens a sender. Each POST has the result that `answer` returns for its destination. */
function open(
  answer: (applicationId: string) => AttemptResult | Promise<AttemptResult>,
  options: object = {},
) {
  const clock = createFakeClock();
  const post: Poster['post'] = async ({ url }) => await answer(url.pathname.slice(1));
  const sender = openEngine({ settings, ...options }, { clock, post });
  return { clock, sender };
}

const never = (): Promise<AttemptResult> => new Promise(() => {});

const aborted = (applicationId: string, ms: number): object => ({
  applicationId,
  failure: 'aborted',
  detail:
    `The request had no response for ${ms} ms when \`close\` ended; ` +
    'check the log of the receiver, or give `close` more time.',
});

const pending = (applicationId: string, ms: number): object => ({
  applicationId,
  failure: 'deadline',
  detail:
    `The request had no response for ${ms} ms when \`flush\` ended; ` +
    'check the log of the receiver, or give `flush` more time.',
});

/** A sender whose only message was answered with 500, and gets no answer when it is sent again. */
async function openFailedOnce() {
  const answers: AttemptResult[] = [{ ...ANSWERED, status: 500 }];
  const opened = open(() => answers.shift() ?? never(), { schedule: { delaysMs: [10] } });
  await opened.sender.send([message('m-0')]);
  return opened;
}

describe('close', () => {
  test('names a destination whose request it aborts', async () => {
    const { clock, sender } = open(never);
    await sender.send([message('m-0')]);
    await clock.advance(500);
    const { returned, failures } = await clock.runUntilSettled(sender.close());
    expect(returned).toHaveLength(1);
    expect(failures).toEqual([aborted('shop-1', 10_500)]);
  });

  test('does not name a destination that answers after all', async () => {
    const slow = deferred();
    const { clock, sender } = open(async (id) => {
      if (id === 'slow') await slow.promise;
      return await (id === 'hanging' ? never() : ANSWERED);
    });
    await sender.send([message('m-0', 'slow'), message('m-1', 'hanging')]);
    await clock.advance(0);
    const closing = sender.close({ deadlineMs: 100 });
    await clock.advance(101);
    slow.resolve();
    const { delivered, failures } = await clock.runUntilSettled(closing);
    expect(delivered).toBe(1);
    expect(failures).toEqual([aborted('hanging', 100)]);
  });

  // The request may have been aborted after a millisecond, which says nothing about the destination.
  test('still reports an earlier failure of the destination', async () => {
    const { clock, sender } = await openFailedOnce();
    await clock.advance(100);
    const { failures } = await clock.runUntilSettled(sender.close({ deadlineMs: 50 }));
    expect(failures).toEqual([{ applicationId: 'shop-1', status: 500 }]);
  });

  test('reports the request if the destination was missing before it', async () => {
    let enabled = false;
    const { clock, sender } = open(never, { settings: () => ({ ...ENGINE_SHOP, enabled }) });
    await sender.send([message('m-0')]);
    const flushed = await clock.runUntilSettled(sender.flush({ deadlineMs: 10 }));
    expect(flushed.failures).toEqual([{ applicationId: 'shop-1', because: 'disabled' }]);
    enabled = true;
    await clock.advance(600_000);
    const { failures } = await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    expect(failures).toMatchObject([{ applicationId: 'shop-1', failure: 'aborted' }]);
  });
});

describe('flush', () => {
  test('names a destination whose request has no response when it ends', async () => {
    const { clock, sender } = open(never);
    await sender.send([message('m-0')]);
    const flushed = await clock.runUntilSettled(sender.flush({ deadlineMs: 2000 }));
    expect(flushed).toMatchObject({ pending: 1, failures: [pending('shop-1', 2000)] });
    const { failures } = await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    expect(failures).toMatchObject([{ applicationId: 'shop-1', failure: 'aborted' }]);
  });

  test('does not name a destination that answers before its end', async () => {
    const { clock, sender } = open((id) => (id === 'hanging' ? never() : ANSWERED));
    await sender.send([message('m-0'), message('m-1', 'hanging')]);
    const { failures } = await clock.runUntilSettled(sender.flush({ deadlineMs: 50 }));
    expect(failures).toEqual([pending('hanging', 50)]);
  });

  test('does not name a destination of which it awaits no message', async () => {
    const { clock, sender } = open(never);
    await sender.send([message('m-0', 'earlier')]);
    const flushing = sender.flush({ deadlineMs: 50 });
    await sender.send([message('m-1', 'later')]);
    const { failures } = await clock.runUntilSettled(flushing);
    expect(failures).toEqual([pending('earlier', 50)]);
  });

  test('still reports an earlier failure of the destination', async () => {
    const { clock, sender } = await openFailedOnce();
    const { failures } = await clock.runUntilSettled(sender.flush({ deadlineMs: 100 }));
    expect(failures).toEqual([{ applicationId: 'shop-1', status: 500 }]);
  });
});
