/** What once stood still for ever, or lost a message on the way: with a server that answers as told. */
import { describe, expect, test } from 'vitest';
import { Ends } from '../../../src/queue/jetstream/ends.ts';
import { Unanswered } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { type Link, Requests } from '../../../src/queue/jetstream/link.ts';
import { namesOf, tokenOf } from '../../../src/queue/jetstream/names.ts';
import type {
  ConsumerInfo,
  Manager,
  Nats,
  NatsHeaders,
  NatsMessage,
} from '../../../src/queue/jetstream/nats.ts';
import { listed } from '../../../src/queue/jetstream/reading.ts';
import type { Session } from '../../../src/queue/jetstream/session.ts';
import { Store } from '../../../src/queue/jetstream/store.ts';
import { View } from '../../../src/queue/jetstream/view.ts';
import { Work } from '../../../src/queue/jetstream/work.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { ROW } from '../conformance/trial.ts';

const headersOf = (code: number, lines: Readonly<Record<string, string>> = {}): NatsHeaders => ({
  code,
  get: (name) => lines[name] ?? '',
  set: () => {},
});

type Callback = (error: Error | null, message: NatsMessage) => void;

/** The consumers that are made, in their order, each to be answered by the test. */
class Consumers {
  readonly made: { readonly inbox: string; readonly answer: (info: ConsumerInfo) => void }[] = [];
  readonly #callbacks = new Map<string, Callback>();

  readonly nats = {
    isClosed: () => false,
    publish: () => {},
    subscribe: (inbox: string, { callback }: { readonly callback: Callback }) => {
      this.#callbacks.set(inbox, callback);
      return { unsubscribe: () => {} };
    },
  } as unknown as Nats;

  readonly manager = {
    consumers: {
      add: (_: string, config: { readonly deliver_subject: string }) =>
        new Promise<ConsumerInfo>((answer) => {
          this.made.push({ inbox: config.deliver_subject, answer });
        }),
      delete: () => Promise.resolve(true),
    },
  } as unknown as Manager;

  #send(message: Partial<NatsMessage>): void {
    const { inbox } = this.made.at(-1) as { readonly inbox: string };
    const whole = { subject: 's', data: new Uint8Array(), ...message };
    this.#callbacks.get(inbox)?.(null, whole);
  }

  message(number: number, pending: number): void {
    this.#send({ reply: `$JS.ACK.s.c.1.${number}.${number}.0.${pending}` });
  }

  heartbeat(last: number, stalled = ''): void {
    const lines = { 'Nats-Last-Consumer': `${last}`, 'Nats-Consumer-Stalled': stalled };
    this.#send({ headers: headersOf(100, lines) });
  }
}

const listing = ({ nats, manager }: Consumers, callTimeoutMs: number) =>
  listed(
    {
      nats,
      manager,
      clock: systemClock,
      newInbox: newId,
      stamp: (stampMs) => stampMs,
      callTimeoutMs,
    },
    { stream: 's', subjects: '>', after: 0, limit: 10, headersOnly: true },
  );

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a list whose last message is deleted while it is read', () => {
  test('ends at the second heartbeat of a consumer that has sent all it has', async () => {
    const consumers = new Consumers();
    let isOver = false;
    const list = listing(consumers, 60_000).finally(() => {
      isOver = true;
    });
    consumers.made[0]?.answer({ name: 'c', num_pending: 2 });
    consumers.heartbeat(0);
    consumers.message(1, 1);
    consumers.heartbeat(1, 'stalled');
    consumers.heartbeat(1);
    await turnOfLoop();
    // The only one since that message: another message may have been on its way.
    expect(isOver).toBe(false);
    consumers.heartbeat(1);
    expect((await list).map(({ sequence }) => sequence)).toEqual([1]);
  });

  test('is given up once nothing has come for the time of a call', async () => {
    const consumers = new Consumers();
    const list = listing(consumers, 20);
    consumers.made[0]?.answer({ name: 'c', num_pending: 2 });
    consumers.message(1, 1);
    await expect(list).rejects.toBeInstanceOf(Unanswered);
  });
});

const messageAt = (sequence: number, index?: number) => ({
  sequence,
  storedMs: 1000 * sequence,
  format: 2 as const,
  sizeBytes: 1,
  messageId: `${sequence}`,
  dateAt: -1,
  countAt: -1,
  origin: { senderId: 'sender', number: sequence },
  ...(index !== undefined && { batch: { id: 'call', index, count: 2 } }),
});

const sequencesOf = (messages: readonly { readonly sequence: number }[]): number[] =>
  messages.map(({ sequence }) => sequence);

const beginning = () => ({ row: { ...ROW, tier: 'healthy' as const }, lingerMs: 0 });

const sessionOf = ({ nats, manager }: Consumers): Session =>
  ({
    link: { nats, manager },
    names: namesOf('p'),
    clock: systemClock,
    callTimeoutMs: 60_000,
    newId,
    time: { now: () => 0, of: (stampMs: number) => stampMs },
    stamped: () => {},
    beginning,
  }) as unknown as Session;

describe('two who look at an application at once', () => {
  test('leave what came in when the first of them was done', async () => {
    const consumers = new Consumers();
    const work = new Work(sessionOf(consumers), () => {});
    const view = work.view(tokenOf('one'));
    const first = work.look(view);
    const second = work.look(view);
    consumers.made[0]?.answer({ name: 'c', num_pending: 0 });
    await first;
    view.came(messageAt(101));
    consumers.made[1]?.answer({ name: 'd', num_pending: 0 });
    await second;
    expect(sequencesOf(view.fresh)).toEqual([101]);
    expect(consumers.made).toHaveLength(1);
  });
});

describe('of a call that is never wholly stored', () => {
  test('what is there is given after its minute, with what is behind it', () => {
    let nowMs = 2000;
    const view = new View(tokenOf('one'), { now: () => nowMs, initial: beginning }, true);
    expect(view.claimableAtMs()).toBeUndefined();
    view.came(messageAt(1, 0));
    view.came(messageAt(2));
    expect(sequencesOf(view.visible())).toEqual([]);
    expect(view.claimableAtMs()).toBe(61_000);
    nowMs = 61_000;
    expect(sequencesOf(view.visible())).toEqual([1, 2]);
    expect(view.claimableAtMs()).toBe(1000);
  });
});

describe('closing an application', () => {
  test('fails where another process is quicker each time', async () => {
    let writes = 0;
    const view = new View(tokenOf('one'), { now: () => 0, initial: beginning }, true);
    view.came(messageAt(1));
    const work = { ready: async () => {}, viewOf: () => view, look: async () => {} };
    const parts = {
      rows: {
        change: async () => {},
        write: () => {
          writes += 1;
          // Only so that the test ends where it has no bound.
          if (writes > 1000) throw new Error('without end');
          return Promise.resolve(false);
        },
      },
      bodies: { read: () => Promise.resolve(new Map()) },
    };
    const session = { time: { now: () => 0 } };
    const ends = new Ends(session as never, work as never, parts as never);
    await expect(ends.close('one', 10)).rejects.toThrow('the row of an application changes all the time');
    expect(writes).toBe(50);
  });
});

const storeOf = (answers: readonly object[], callTimeoutMs: number) => {
  let answered: Callback | undefined;
  let asked = 0;
  const nats = {
    isClosed: () => false,
    subscribe: (_: string, { callback }: { readonly callback: Callback }) => {
      answered = callback;
      return { unsubscribe: () => {} };
    },
    publish: (_: string, __: unknown, { reply }: { readonly reply: string }) => {
      const answer = answers[Math.min(asked, answers.length - 1)];
      asked += 1;
      answered?.(null, { subject: reply, data: Buffer.from(JSON.stringify(answer)) });
    },
  } as unknown as Nats;
  const requests = new Requests(nats, { clock: systemClock, inbox: 'i' }, callTimeoutMs);
  const link = { newHeaders: () => headersOf(0) } as unknown as Link;
  return {
    store: new Store(requests, link, {
      clock: systemClock,
      callTimeoutMs: 500,
      stamp: (stampMs) => stampMs,
    }),
    end: () => requests.end(),
  };
};

describe('a publication', () => {
  const publication = { subject: 's', body: Buffer.alloc(0), messageId: 'id' };
  const underWay = { stream: 's', seq: 0, duplicate: true };

  test('whose id is under way is asked for until it is stored', async () => {
    const stored = { stream: 's', seq: 7, duplicate: true };
    const { store, end } = storeOf([underWay, underWay, stored], 10_000);
    expect(await store.publish(publication)).toBe(7);
    end();
  });

  test('of which no sequence is told in the time of a call is not taken for stored', async () => {
    const { store, end } = storeOf([underWay], 150);
    await expect(store.publish(publication)).rejects.toBeInstanceOf(Unanswered);
    end();
  });
});
