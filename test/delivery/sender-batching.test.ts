import { expect, test } from 'vitest';
import { deferred } from '../../src/runtime/deferred.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import { ENGINE_SECRET, ENGINE_URL, openEngine } from '../helpers/fake-engine.ts';
import { ids, message, messages, NONE } from '../helpers/sender.ts';

/** A sender whose first request is answered when `answer` is called, and the ids of each request. */
function start(options: object) {
  const clock = createFakeClock();
  const { promise: answered, resolve: answer } = deferred();
  const sent: string[][] = [];
  const post: Poster['post'] = async ({ body }) => {
    const elements = JSON.parse(body.toString()) as { message_id: string }[];
    sent.push(elements.map(({ message_id }) => message_id));
    await answered;
    return { kind: 'response', status: 200, retryAfter: undefined, timings: { totalMs: 1 } };
  };
  const destination = { url: ENGINE_URL, secret: ENGINE_SECRET };
  const sender = openEngine({ ...destination, ...options }, { clock, post });
  return { sender, clock, sent, answer };
}

test('a sender sends to an idle destination at once, and together what comes meanwhile', async () => {
  const { sender, clock, sent, answer } = start({});
  await sender.send([message('m-0')]);
  await clock.advance(0);
  for (const id of ids(4, 1)) await sender.send([message(id)]);
  await clock.advance(0);
  expect(sent).toEqual([['m-0']]);
  expect((await sender.stats()).inFlight).toEqual({ active: 1, waiting: 0 });
  const flushed = sender.flush();
  // The flush has begun before the first message is settled.
  await clock.advance(0);
  answer();
  expect(await clock.runUntilSettled(flushed)).toEqual({ ...NONE, delivered: 5 });
  expect(sent).toEqual([['m-0'], ids(4, 1)]);
});

test('a sender with lingerMs waits for a full request, or until that time is over', async () => {
  const { sender, clock, sent, answer } = start({ lingerMs: 60_000, cautiousMaxMessages: 3 });
  answer();
  await sender.send(messages(2));
  await clock.advance(30_000);
  expect(sent).toEqual([]);
  await sender.send([message('m-2')]);
  await clock.advance(0);
  expect(sent).toEqual([ids(3)]);
  await sender.send([message('late')]);
  await clock.advance(59_999);
  expect(sent).toHaveLength(1);
  await clock.advance(1);
  expect(sent).toEqual([ids(3), ['late']]);
});
