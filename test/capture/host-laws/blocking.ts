/** What becomes of a request that is blocked. */
import { describe, expect, test } from 'vitest';
import { blockRequest, currentContext } from '../../../src/capture/index.ts';
import type { HostHarness, StartHost } from '../host-suite.ts';

export function blockLaws(start: StartHost, harness: HostHarness): void {
  describe('a blocked request', () => {
    test('is answered with 403, and its report knows that', async () => {
      let seen: unknown;
      const { ask } = await start(() =>
        blockRequest(() => {
          seen = currentContext().http?.response;
        }),
      );
      expect(await ask('/')).toMatchObject({ status: 403, body: 'Forbidden' });
      expect(seen).toEqual({ blocked: true, status: 403 });
      void harness;
    });
  });
}
