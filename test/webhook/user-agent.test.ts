import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEFAULT_USER_AGENT } from '../../src/webhook/request-headers.ts';

test('the User-Agent contains the version of the package', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { readonly version: string };
  expect(DEFAULT_USER_AGENT).toBe(`security-event-delivery/${version}`);
});
