import { expect, onTestFinished, test } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { createFakeClock, createSeededRandom } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import type { AttemptResult } from '../../src/webhook/outcome.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { message } from '../helpers/sender.ts';

const SECOND_MS = 1000;
const HEADERS_MS = 15 * SECOND_MS;

/** Of black holes, and of destinations that answer 500. */
const COUNT = quickOrNightly(300, 1000);
const HEALTHY = 20;
const SECONDS = quickOrNightly(60, 3600);

const timings = { totalMs: 1 };

/** Receivers by their hosts: `hang-…` never answer, `fail-…` answer 500, all others 200. */
function wire(clock: Clock) {
  let inFlight = 0;
  let most = 0;
  const arrivedMs: number[] = [];
  const resultOf = async (host: string): Promise<AttemptResult> => {
    await clock.sleep(host.startsWith('hang') ? HEADERS_MS : 1);
    if (host.startsWith('hang')) {
      return { kind: 'failure', code: 'headers-timeout', detail: '', timings };
    }
    const status = host.startsWith('fail') ? 500 : 200;
    return { kind: 'response', status, retryAfter: undefined, timings };
  };
  const poster: Poster = {
    post: async ({ url, body }) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      if (url.hostname.startsWith('well')) {
        for (const { message_id } of JSON.parse(body.toString()) as { message_id: string }[]) {
          arrivedMs.push(clock.monotonicMs() - Number(message_id.split(' ')[1]));
        }
      }
      const result = await resultOf(url.hostname);
      inFlight -= 1;
      return result;
    },
    close: () => Promise.resolve(),
  };
  return { poster, arrivedMs, most: () => most };
}

const namesOf = (kind: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${index}`);

test(`${COUNT} black holes and as many that answer 500 hold up no healthy message for ${SECONDS} s (D75)`, async () => {
  const clock = createFakeClock();
  const { poster, arrivedMs, most } = wire(clock);
  const away = [...namesOf('hang', COUNT), ...namesOf('fail', COUNT)];
  const well = namesOf('well', HEALTHY);
  const applications = Object.fromEntries(
    [...away, ...well].map((id) => [
      id,
      { name: 'shop', environment: 'test', url: `https://${id}.example/`, secret: 'a secret' },
    ]),
  );
  const sender = makeSender(
    { settings: { applications } },
    {
      clock,
      random: createSeededRandom(75),
      newId: () => 'sender',
      createPoster: () => poster,
      maxOpenFiles: Number.POSITIVE_INFINITY,
    },
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
  });
  await sender.send(away.map((id) => message(`${id} 0`, id)));
  for (let second = 0; second < SECONDS; second += 1) {
    await sender.send(well.map((id) => message(`${id} ${clock.monotonicMs()}`, id)));
    await clock.advance(SECOND_MS);
  }
  expect(arrivedMs).toHaveLength(HEALTHY * SECONDS);
  expect(Math.max(...arrivedMs)).toBeLessThan(SECOND_MS);
  expect(most()).toBeLessThanOrEqual(64 + 1024);
  expect(await sender.stats()).toMatchObject({ delivered: HEALTHY * SECONDS });
});
