/** What once stood still for ever, or lost a message on the way: with a server that answers as told. */
import { describe, expect, test } from 'vitest';
import { Bodies } from '../../../src/queue/jetstream/bodies.ts';
import { Ends } from '../../../src/queue/jetstream/ends.ts';
import { sentOnceMore, toldOf } from '../../../src/queue/jetstream/envelope.ts';
import { FollowUps } from '../../../src/queue/jetstream/follow-ups.ts';
import { FreshRoom } from '../../../src/queue/jetstream/fresh-room.ts';
import { Unanswered } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { RowRoom } from '../../../src/queue/jetstream/known-row.ts';
import { type Link, Requests } from '../../../src/queue/jetstream/link.ts';
import { namesOf, tokenOf } from '../../../src/queue/jetstream/names.ts';
import type { Nats } from '../../../src/queue/jetstream/nats.ts';
import { listed } from '../../../src/queue/jetstream/reading.ts';
import { newRow } from '../../../src/queue/jetstream/row.ts';
import { encodeRow } from '../../../src/queue/jetstream/row-code.ts';
import { done } from '../../../src/queue/jetstream/row-ends.ts';
import type { Session } from '../../../src/queue/jetstream/session.ts';
import { Store, TOLD } from '../../../src/queue/jetstream/store.ts';
import { View } from '../../../src/queue/jetstream/view.ts';
import { Work } from '../../../src/queue/jetstream/work.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { entryOf, ROW } from '../conformance/trial.ts';
import { type Callback, Consumers, headersOf, untilMade } from './consumers.ts';

const listing = ({ nats, manager }: Consumers, callTimeoutMs: number) =>
  listed(
    { store: NOTHING as never, clock: systemClock, callTimeoutMs },
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
    await untilMade(consumers, 1);
    consumers.made[0]?.answer({ name: 'c', num_pending: 2 });
    consumers.heartbeat(0);
    consumers.message(1, 1, 1);
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
    await untilMade(consumers, 1);
    consumers.made[0]?.answer({ name: 'c', num_pending: 2 });
    consumers.message(1, 1, 1);
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

const viewOf = (now: () => number): View => {
  const room = new FreshRoom(() => [], 1000);
  return new View(
    tokenOf('one'),
    { now, initial: beginning, room, rowRoom: new RowRoom(1000) },
    true,
  );
};

const beginning = () => ({ row: { ...ROW, tier: 'healthy' as const }, lingerMs: 0 });

/** What the leader has; nothing by default. */
const NOTHING = {
  last: () => Promise.resolve(undefined),
  get: () => Promise.resolve(undefined),
  next: () => Promise.resolve(undefined),
  state: () => Promise.resolve({ messages: 0, bytes: 0, last_seq: 1000 }),
};

const sessionOf = ({ nats, manager }: Consumers, store: object = NOTHING): Session =>
  ({
    store,
    link: { nats, manager },
    names: namesOf('p'),
    clock: systemClock,
    callTimeoutMs: 60_000,
    maxKept: 1000,
    newId,
    time: { now: () => 0, of: (stampMs: number) => stampMs },
    stamped: () => {},
    beginning,
  }) as unknown as Session;

const workOf = (session: Session): Work => new Work(session, new Bodies(session), () => {});

describe('two who look at an application at once', () => {
  test('leave what came in when the first of them was done', async () => {
    const consumers = new Consumers();
    const work = workOf(sessionOf(consumers));
    const view = work.view(tokenOf('one'));
    const first = work.look(view, {});
    const second = work.look(view, {});
    await untilMade(consumers, 1);
    consumers.made[0]?.answer({ name: 'c', num_pending: 0 });
    await first;
    view.came(messageAt(101));
    consumers.made[1]?.answer({ name: 'd', num_pending: 0 });
    await second;
    expect(sequencesOf(view.fresh)).toEqual([101]);
    expect(consumers.made).toHaveLength(1);
  });
});

describe('a look at an application', () => {
  test.each([
    ['the leader has', 7, 0],
    ['has come in', 0, 7],
  ])('at a server that lags is another one, until it shows what %s', async (_, there, came) => {
    const consumers = new Consumers();
    const kept = { sequence: there, subject: 'p.m.2.b25l', storedMs: 0, told: '', body: '' };
    const store = {
      ...NOTHING,
      last: () => Promise.resolve(there === 0 ? undefined : kept),
      next: () => Promise.resolve({ ...kept, sequence: 7 }),
    };
    const work = workOf(sessionOf(consumers, store));
    const view = work.view(tokenOf('one'));
    if (came > 0) view.came(messageAt(came));
    const look = work.look(view, {});
    await untilMade(consumers, 1);
    consumers.made[0]?.answer({ name: 'lags', num_pending: 0 });
    await untilMade(consumers, 2);
    expect(view.isWhole).toBe(false);
    // What a server that was wrong once says of what is to come is not believed again.
    consumers.made[1]?.answer({ name: 'knows', num_pending: 0 });
    await new Promise(setImmediate);
    consumers.message(7, 1, 0);
    consumers.heartbeat(1);
    consumers.heartbeat(1);
    await look;
    expect(view.isWhole).toBe(true);
  });

  test('is whole where what came in was removed since', async () => {
    const consumers = new Consumers();
    const work = workOf(sessionOf(consumers));
    const view = work.view(tokenOf('one'));
    view.came(messageAt(7));
    const look = work.look(view, {});
    await untilMade(consumers, 1);
    consumers.made[0]?.answer({ name: 'c', num_pending: 0 });
    await look;
    expect(view.isWhole).toBe(true);
    expect(view.fresh).toEqual([]);
  });
});

describe('what is read of a message', () => {
  const told = toldOf(entryOf('one', { messageId: 'a' }));
  const keptAs = (applicationId: string) => ({
    sequence: 4,
    subject: namesOf('p').message(2, tokenOf(applicationId)),
    storedMs: 0,
    told,
    body: Buffer.from('x'),
  });
  const bodiesOf = (glanced: string, led: string | undefined) => {
    const store = {
      ...NOTHING,
      glance: () => Promise.resolve(keptAs(glanced)),
      get: () => Promise.resolve(led === undefined ? undefined : keptAs(led)),
    };
    return new Bodies({ store, names: namesOf('p') } as unknown as Session);
  };

  test.each([
    ['another one than a server said', 'other', 'one', 1],
    ["another application's", 'other', 'other', 0],
    ['there', 'one', undefined, 1],
  ])('is not given where it is %s, but as the leader has it', async (_, glanced, led, count) => {
    const bodies = bodiesOf(glanced, led);
    expect((await bodies.read(tokenOf('one'), [4])).size).toBe(count);
  });

  test('of another application is not given from memory either', async () => {
    const bodies = bodiesOf('one', 'one');
    expect((await bodies.read(tokenOf('one'), [4])).size).toBe(1);
    expect((await bodies.read(tokenOf('two'), [4])).size).toBe(0);
  });

  test('that another process has removed is gone, whatever is in memory', async () => {
    const bodies = bodiesOf('one', undefined);
    expect((await bodies.read(tokenOf('one'), [4])).size).toBe(1);
    expect((await bodies.reread(tokenOf('one'), [4])).size).toBe(0);
  });

  test('that the leader has not come to yet is not said to be gone', async () => {
    const store = { ...NOTHING, glance: () => Promise.resolve(undefined) };
    const bodies = new Bodies({ store, names: namesOf('p') } as unknown as Session);
    await expect(bodies.read(tokenOf('one'), [1001])).rejects.toThrow('lags');
  });
});

const none = async (): Promise<void> => {};
const refuse = (): Promise<never> => Promise.reject(new Error('full'));

const GARBAGE = [1, 2, 3, 4, 5, 6, 7, 8];
const viewWith = (row: object) => {
  const view = viewOf(() => 0);
  const written = { ...newRow(beginning().row), cursor: 9, ...row };
  view.written(written, 1, encodeRow(written));
  return view;
};
const followUpsOf = (purged: number, letters: object) => {
  const deleted: number[] = [];
  const store = {
    purge: () => Promise.resolve(purged),
    delete: (_: string, sequence: number) => {
      deleted.push(sequence);
      return Promise.resolve(true);
    },
  };
  const parts = {
    letters: { publish: none, revive: none, ...letters },
    bodies: { forget: () => {} },
    rows: { write: () => Promise.resolve(true) },
  };
  const session = { store, names: namesOf('p') };
  return { deleted, followUps: new FollowUps(session as never, parts as never) };
};

describe('what is left to do of a row', () => {
  test('is removed one by one where a purge overlooked some', async () => {
    const { deleted, followUps } = followUpsOf(0, {});
    await followUps.run(viewWith({ garbage: GARBAGE }));
    expect(deleted).toEqual(GARBAGE);
  });

  test('is removed by a purge alone where that found all', async () => {
    const { deleted, followUps } = followUpsOf(8, {});
    await followUps.run(viewWith({ garbage: GARBAGE }));
    expect(deleted).toEqual([]);
  });

  test('is removed where dead letters cannot be published, and does not come back', async () => {
    const { deleted, followUps } = followUpsOf(8, { publish: refuse });
    const places = [{ sequence: 9, acceptedMs: 0 }];
    const reason = 'attempts-exhausted';
    const view = viewWith({
      garbage: GARBAGE,
      dying: [{ places, sends: 1, reason, end: null, diedMs: 0 }],
    });
    await expect(followUps.run(view)).rejects.toThrow('full');
    expect(deleted).toEqual(GARBAGE);
    const { garbage, dying } = view.done.reduce(done, view.state);
    expect([garbage.length, dying.length]).toEqual([0, 1]);
  });
});

describe('of a call that is never wholly stored', () => {
  test('what is there is given after its minute, with what is behind it', () => {
    let nowMs = 2000;
    const view = viewOf(() => nowMs);
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
    const view = viewOf(() => 0);
    view.came(messageAt(1));
    const work = { ready: none, caughtUp: none, viewOf: () => view, look: none };
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
    await expect(ends.close('one', 10)).rejects.toThrow(
      'the row of an application changes all the time',
    );
    expect(writes).toBe(50);
  });
});

const storeOf = (answers: readonly object[], callTimeoutMs: number, told: string[] = []) => {
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
  const newHeaders = () => ({
    ...headersOf(0),
    set: (name: string, value: string) => void (name === TOLD && told.push(value)),
  });
  const link = { newHeaders } as unknown as Link;
  return {
    store: new Store(requests, link, {
      clock: systemClock,
      callTimeoutMs: 500,
      stamp: (stampMs) => stampMs,
      maxPayload: 1_048_576,
    }),
    end: () => requests.end(),
  };
};

const refusal = (err_code: number) => ({ error: { err_code, description: 'no' } });

describe('a publication', () => {
  const publication = { subject: 's', body: Buffer.alloc(0), messageId: 'id' };
  const underWay = { stream: 's', seq: 0, duplicate: true };

  test('whose id is under way is asked for until it is stored', async () => {
    const stored = { stream: 's', seq: 7, duplicate: true };
    const { store, end } = storeOf([underWay, underWay, stored], 10_000);
    expect(await store.publish(publication)).toBe(7);
    end();
  });

  test.each([
    ['an id is under way', refusal(10158)],
    ['there is no leader yet', refusal(10008)],
    ['a leader is not ready', { error: { code: 503, description: 'raft: not leader' } }],
  ])('that is refused since %s is asked for again', async (_, refused) => {
    const { store, end } = storeOf([refused, { stream: 's', seq: 7 }], 10_000);
    expect(await store.publish(publication)).toBe(7);
    end();
  });

  test.each([10071, 10164])('that is outrun (%i) is not made', async (code) => {
    const { store, end } = storeOf([refusal(code)], 10_000);
    expect(await store.replace({ ...publication, lastSequence: 4 })).toBeUndefined();
    end();
  });

  test('that may have been stored, and sent since, counts as sent when it is stored again', async () => {
    const told: string[] = [];
    const { store, end } = storeOf(
      [underWay, refusal(10008), { stream: 's', seq: 7 }],
      10_000,
      told,
    );
    await store.publish({ ...publication, told: 'not sent', toldInDoubt: () => 'sent' });
    expect(told).toEqual(['not sent', 'sent', 'sent']);
    const past = { sends: 2, ageMs: 5, dueInMs: 6, progress: 1 };
    const entry = { ...entryOf('one'), past };
    expect(sentOnceMore(entry).past).toEqual({ sends: 3, ageMs: 5, dueInMs: 6, progress: 1 });
    expect(sentOnceMore(entryOf('one')).past?.sends).toBe(1);
    end();
  });

  test('that is refused for another reason says so', async () => {
    const { store, end } = storeOf([refusal(10077)], 10_000);
    await expect(store.publish(publication)).rejects.toMatchObject({ code: 10077 });
    end();
  });

  test('of which no sequence is told in the time of a call is not taken for stored', async () => {
    const { store, end } = storeOf([underWay], 150);
    await expect(store.publish(publication)).rejects.toBeInstanceOf(Unanswered);
    end();
  });
});
