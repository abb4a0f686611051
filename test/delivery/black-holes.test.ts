import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/runtime/clock.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import type { Poster } from '../../src/webhook/http/client.ts';
import type { AttemptResult } from '../../src/webhook/outcome.ts';
import { openEngine } from '../helpers/fake-engine.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../helpers/seeded-random.ts';
import { message } from '../helpers/sender.ts';

const SECOND_MS = 1000;
const HEADERS_MS = 15 * SECOND_MS;

/** Of black holes, and of destinations that answer 500. */
const COUNT = quickOrNightly(300, 1000);
const HEALTHY = 20;
const SECONDS = quickOrNightly(60, 3600);

/** Less than 30 bytes for each healthy message of the nightly hour. */
const MAX_GROWTH_BYTES = 2_000_000;

const timings = { totalMs: 1 };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Receivers by their hosts: `hang-…` never answer, `fail-…` answer 500, all others 200. */
function wire(clock: Clock) {
  let inFlight = 0;
  let most = 0;
  let arrived = 0;
  let latestMs = 0;
  const resultOf = async (host: string): Promise<AttemptResult> => {
    await clock.sleep(host.startsWith('hang') ? HEADERS_MS : 1);
    if (host.startsWith('hang')) {
      return { kind: 'failure', code: 'headers-timeout', detail: '', timings };
    }
    const status = host.startsWith('fail') ? 500 : 200;
    return { kind: 'response', status, retryAfter: undefined, timings };
  };
  const post: Poster['post'] = async ({ url, body }) => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    if (url.hostname.startsWith('well')) {
      for (const { message_id } of JSON.parse(body.toString()) as { message_id: string }[]) {
        arrived += 1;
        latestMs = Math.max(latestMs, clock.monotonicMs() - Number(message_id.split(' ')[1]));
      }
    }
    const result = await resultOf(url.hostname);
    inFlight -= 1;
    return result;
  };
  return { post, figures: () => ({ arrived, latestMs, most }) };
}

const namesOf = (kind: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${index}`);

test(
  `${COUNT} black holes and as many that answer 500 hold up no healthy message for ${SECONDS} s (D75)`,
  async () => {
    const clock = createFakeClock();
    const { post, figures } = wire(clock);
    const away = [...namesOf('hang', COUNT), ...namesOf('fail', COUNT)];
    const well = namesOf('well', HEALTHY);
    const applications = Object.fromEntries(
      [...away, ...well].map((id) => [
        id,
        { name: 'shop', environment: 'test', url: `https://${id}.example/`, secret: 'a secret' },
      ]),
    );
    const random = createSeededRandom(75);
    const sender = openEngine({ settings: { applications } }, { clock, post, random });
    await sender.send(away.map((id) => message(`${id} 0`, id)));
    let heapAtFirst = 0;
    for (let second = 0; second < SECONDS; second += 1) {
      // By then each destination has been tried.
      if (second === SECONDS / 12) heapAtFirst = heapBytes();
      await sender.send(well.map((id) => message(`${id} ${clock.monotonicMs()}`, id)));
      await clock.advance(SECOND_MS);
    }
    expect(heapBytes() - heapAtFirst).toBeLessThan(MAX_GROWTH_BYTES);
    const { arrived, latestMs, most } = figures();
    expect(arrived).toBe(HEALTHY * SECONDS);
    expect(latestMs).toBeLessThan(SECOND_MS);
    expect(most).toBeLessThanOrEqual(64 + 1024);
    expect(await sender.stats()).toMatchObject({ delivered: HEALTHY * SECONDS });
    // The hour takes some 20 s of a quiet processor.
  },
  quickOrNightly(30_000, 300_000),
);
