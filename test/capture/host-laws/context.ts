/** Where a request's context is found, and what stands in it. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { currentContext, identify } from '../../../src/capture/index.ts';
import type { HostHarness, StartHost } from '../host-suite.ts';

export function contextLaws(start: StartHost, harness: HostHarness): void {
  describe('the context', () => {
    test('is there in a handler, after waiting, and deep in what it calls', async () => {
      const seen: unknown[] = [];
      const look = () => seen.push(currentContext().http?.request);
      const { ask } = await start(async ({ answer }) => {
        look();
        await wait(1);
        look();
        await new Promise((done) => setTimeout(() => done(look()), 1));
        await Promise.all([wait(1).then(look)]);
        return answer(200, 'done');
      });
      expect((await ask('/here?q=1')).body).toBe('done');
      expect(seen).toEqual(Array(4).fill(expect.objectContaining({ path: '/here', verb: 'GET' })));
      expect(currentContext()).toEqual({});
      void harness;
    });

    test('does not mix with those of a hundred requests at the same time', async () => {
      const { ask } = await start(async ({ answer }) => {
        const path = currentContext().http?.request.path ?? '';
        await wait(Math.random() * 20);
        identify({ path });
        await wait(Math.random() * 20);
        const { actor, http } = currentContext();
        return answer(200, JSON.stringify([http?.request.path, actor?.identifiers]));
      });
      const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
      const answers = await Promise.all(paths.map((path) => ask(path)));
      expect(answers.map(({ body }) => JSON.parse(body))).toEqual(
        paths.map((path) => [path, { path }]),
      );
    });
  });
}
