import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { untracedSender } from '../../src/delivery/create-sender.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { isOwnWork } from '../../src/runtime/untraced.ts';
import { messageReader } from '../../src/webhook/read-messages.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import { message, openReceiver, openSender, SECRET, senderTo } from '../helpers/sender.ts';

const host = new AsyncLocalStorage<string>();

/** What code sees of where it runs. */
const place = () => ({ isOwn: isOwnWork(), store: host.getStore() });
const OURS = { isOwn: true, store: undefined };
const THEIRS = { isOwn: false, store: 'of the request' };
const inRequest = <T>(work: () => T): T => host.run('of the request', work);

const CALLS = [
  'send',
  'sendTest',
  'stats',
  'deadLetters',
  'replay',
  'purge',
  'reopen',
  'flush',
  'close',
] as const;

describe('a call of a sender', () => {
  test.each(CALLS)(
    '%s runs as our own work, with what it is given, and gives its promise',
    (call) => {
      const calls: unknown[] = [];
      const promise = Promise.resolve(call);
      const inner = {
        [call]: (...given: unknown[]) => {
          calls.push([given, place()]);
          return promise;
        },
      };
      const sender = untracedSender(inner as never) as unknown as typeof inner;
      const given = call === 'stats' ? [] : ['first', 'second'];
      expect(inRequest(() => sender[call]?.(...given))).toBe(promise);
      expect(calls).toEqual([[given, OURS]]);
    },
  );

  test('that disposes of it closes it, and gives nothing', async () => {
    const places: unknown[] = [];
    const dispose = async () => void places.push(place());
    const sender = untracedSender({ [Symbol.asyncDispose]: dispose } as never);
    expect(await inRequest(() => sender[Symbol.asyncDispose]())).toBeUndefined();
    expect(places).toEqual([OURS]);
  });

  test('keeps the context of its caller', async () => {
    const sender = senderTo(await openReceiver());
    await inRequest(async () => {
      const accepted = sender.send([message('m-1')]);
      expect(place()).toEqual(THEIRS);
      await accepted;
      expect(place()).toEqual(THEIRS);
      await expect(sender.send('nothing' as never)).rejects.toThrow('messages');
      expect(place()).toEqual(THEIRS);
    });
  });
});

/** Where each was called, by its name. */
function notedPlaces() {
  const found = new Map<string, Set<string>>();
  const note = (name: string): void => {
    const seen = found.get(name) ?? new Set();
    found.set(name, seen.add(JSON.stringify(place())));
  };
  return { found, note };
}

describe('host code that a sender made in a request calls', () => {
  const OURS_ALONE = new Set([JSON.stringify(OURS)]);

  test('runs outside the request: settings, secrets and subscribers', async () => {
    const receiver = await openReceiver();
    const { found, note } = notedPlaces();
    const names = ['accepted', 'attempt-started', 'attempt-settled'];
    for (const name of names) {
      const listener = (): void => note(name);
      subscribe(`security-event-delivery:${name}`, listener);
      onTestFinished(() => void unsubscribe(`security-event-delivery:${name}`, listener));
    }
    const secret = () => {
      note('secret');
      return SECRET;
    };
    const settings = () => {
      note('settings');
      return { name: 'shop', environment: 'test', url: receiver.url, secret };
    };
    await inRequest(async () => {
      const sender = openSender({ settings });
      await sender.send([message('m-1')]);
      await sender.sendTest('shop-1');
      await sender.flush();
    });
    expect(Object.fromEntries(found)).toEqual({
      accepted: OURS_ALONE,
      'attempt-started': OURS_ALONE,
      'attempt-settled': OURS_ALONE,
      secret: OURS_ALONE,
      settings: OURS_ALONE,
    });
  });
});

test.each([
  ['both', 1],
  ['enqueue', 1],
  ['deliver', 0],
] as const)(
  'a sender with the role %s builds the schemas when it is created: %i times',
  (role, times) => {
    const parse = vi.spyOn(messageReader('strict'), 'safeParse');
    onTestFinished(() => parse.mockRestore());
    startEngine({ options: { role, queue: createMemoryQueue() } });
    expect(parse).toHaveBeenCalledTimes(times);
  },
);
