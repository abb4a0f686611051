import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { createEnrichment } from '../../../src/capture/enrichment/enrichers.ts';
import {
  currentScope,
  RequestScope,
  runInScope,
} from '../../../src/capture/request/request-scope.ts';
import { isOwnWork } from '../../../src/runtime/untraced.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';

const host = new AsyncLocalStorage<string>();
const place = () => [isOwnWork(), host.getStore(), currentScope()];
const OURS = [true, undefined, undefined];

const silent = () => new Promise<undefined>(() => {});

test('an enricher and the listener of its failures are called outside of requests', async () => {
  const scope = new RequestScope(() => ({}));
  const enriched: unknown[] = [];
  const reported: unknown[] = [];
  const throwing = () => {
    enriched.push(place());
    throw new Error('at once');
  };
  const rejecting = async () => {
    enriched.push(place());
    await nextTurn();
    enriched.push(place());
    throw new Error('later');
  };
  const { factsOf } = createEnrichment({
    enrichers: [throwing, rejecting, silent],
    onFailure: ({ index, fault }) => reported.push([index, fault, place()]),
  });
  host.run('of the request', () => {
    runInScope(scope, () => {
      factsOf('203.0.113.9');
      // More than may be open at a time: the last ones are skipped.
      for (let last = 0; last <= 100; last += 1) factsOf(`198.51.100.${last}`);
      expect(place()).toEqual([false, 'of the request', scope]);
    });
  });
  await nextTurn();
  await nextTurn();
  expect(new Set(enriched.map((seen) => JSON.stringify(seen)))).toEqual(
    new Set([JSON.stringify(OURS)]),
  );
  expect(reported).toEqual([
    [0, 'failed', OURS],
    [1, 'skipped', OURS],
    [2, 'skipped', OURS],
    [1, 'failed', OURS],
  ]);
});
