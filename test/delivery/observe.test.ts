import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createObserver } from '../../src/delivery/events.ts';

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
