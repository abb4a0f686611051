import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createObserver } from '../../src/delivery/events.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { ENGINE_SHOP, startEngine } from '../helpers/fake-engine.ts';
import { message, messages } from '../helpers/sender.ts';

const STALLED = 'security-event-delivery:stalled';

function listenTo(name: string): unknown[] {
  const heard: unknown[] = [];
  const take = (event: unknown, heardOn: string | symbol): void => {
    heard.push([heardOn, event]);
  };
  subscribe(name, take);
  onTestFinished(() => void unsubscribe(name, take));
  return heard;
}

describe('an observer', () => {
  test('publishes on the channel of the event, with its sender', () => {
    const heard = listenTo(STALLED);
    const observe = createObserver('s-1');
    observe('stalled', () => ({ oldestDueMs: 5 }));
    observe('stalled', () => ({ oldestDueMs: 6 }));
    observe('discarded', () => ({ reason: 'purged', count: 1 }));
    createObserver('s-2')('stalled', () => ({ oldestDueMs: 7 }));
    expect(heard).toEqual([
      [STALLED, { senderId: 's-1', oldestDueMs: 5 }],
      [STALLED, { senderId: 's-1', oldestDueMs: 6 }],
      [STALLED, { senderId: 's-2', oldestDueMs: 7 }],
    ]);
  });

  test('makes no event without a subscriber, and notices new and removed ones', () => {
    const observe = createObserver('s-1');
    let made = 0;
    const event = () => {
      made += 1;
      return { oldestDueMs: made };
    };
    observe('stalled', event);
    expect(made).toBe(0);
    const heard: unknown[] = [];
    const take = (told: unknown): void => void heard.push(told);
    subscribe(STALLED, take);
    observe('stalled', event);
    unsubscribe(STALLED, take);
    observe('stalled', event);
    expect(made).toBe(1);
    expect(heard).toEqual([{ senderId: 's-1', oldestDueMs: 1 }]);
  });
});

test('a call publishes the numbers of accepted and of skipped messages of each application', async () => {
  const { sender, published } = startEngine({
    destination: {
      settings: (id: string) =>
        id === 'silent' ? { ...ENGINE_SHOP, modules: { waf: false } } : ENGINE_SHOP,
    },
    options: () => ({ role: 'enqueue', queue: createMemoryQueue() }),
  });
  const given = [
    message('m-0', 'shop-1'),
    message('m-1', '__proto__'),
    message('m-2', 'shop-1'),
    ...messages(3, 'silent'),
  ];
  await sender.send(given, { module: 'waf' });
  const counts = published
    .filter(([name]) => name === 'accepted' || name === 'skipped')
    .map(([name, event]) => [name, event]);
  expect(counts).toMatchObject([
    ['accepted', { applicationId: 'shop-1', format: 2, count: 2 }],
    ['accepted', { applicationId: '__proto__', format: 2, count: 1 }],
    ['skipped', { applicationId: 'silent', reason: 'module-not-selected', count: 3 }],
  ]);
});
