/** The calls of a reporter to a sender: the library's, a wrapper around it, or the host's own. */
import { expect, test } from 'vitest';
import { type InternalSender, SEND_EACH, type WebhookSender } from '../../src/delivery/sender.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { makeReporter } from '../../src/reporter/create-reporter.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { openSender, SECRET } from '../helpers/sender.ts';
import { countedIds } from './open-reporter.ts';

/** A wrapper of the host around our sender. */
class Around {
  readonly #inner: InternalSender & WebhookSender<'open'>;
  readonly given: unknown[] = [];

  constructor(inner: object) {
    this.#inner = inner as InternalSender & WebhookSender<'open'>;
  }

  async [SEND_EACH](...call: Parameters<InternalSender[typeof SEND_EACH]>) {
    this.given.push(...(await call[0]));
    return this.#inner[SEND_EACH](...call);
  }

  send(...call: Parameters<WebhookSender<'open'>['send']>) {
    return this.#inner.send(...call);
  }

  flush() {
    return this.#inner.flush();
  }

  close() {
    return this.#inner.close();
  }
}

/** Reports so many attacks in one turn. */
async function report(webhook: unknown, count: number) {
  const rejected: unknown[] = [];
  const reporter = makeReporter(
    {
      service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
      log: { destination: { write: () => true } },
      platform: false,
      webhook: webhook as never,
      onRejected: (event) => rejected.push(event),
    },
    { clock: createFakeClock(Date.parse('2026-08-01T12:00:00.000Z')), newId: countedIds() },
  );
  for (let reported = 0; reported < count; reported += 1)
    reporter.attack({ ruleset: 'sql_injection' });
  await reporter.flush();
  expect(rejected).toEqual([]);
  expect((await reporter.stats()).accepted).toBe(count);
}

const MESSAGE: unknown = {
  message_id: expect.any(String),
  message_type: 'security_event',
  message: expect.any(Object),
};

test('a wrapper of the host around our sender gets plain messages', async () => {
  const queue = createMemoryQueue();
  const inner = openSender({
    url: 'https://receiver.example/',
    secret: SECRET,
    role: 'enqueue',
    queue,
  } as never);
  const around = new Around(inner);
  await report(around, 1);
  expect(around.given).toStrictEqual([MESSAGE]);
});

test('the host’s own sender gets plain messages, and may change their selections', async () => {
  const given: unknown[] = [];
  const selections: object[] = [];
  const send = async (messages: readonly unknown[], selection: object) => {
    given.push(...messages);
    selections.push(Object.assign(selection, { seen: selections.length }));
    return { accepted: ['any'], skipped: [] };
  };
  await report({ send, flush: async () => ({}), close: async () => ({}) }, 3);
  expect(given[0]).toStrictEqual(MESSAGE);
  expect(selections).toEqual([{ seen: 0 }, { seen: 1 }, { seen: 2 }]);
});
