import { expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { ENGINE_SHOP, startEngine } from '../helpers/fake-engine.ts';
import { message, messages } from '../helpers/sender.ts';

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
