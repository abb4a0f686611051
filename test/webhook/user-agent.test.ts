import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEFAULT_USER_AGENT, PACKAGE_VERSION } from '../../src/webhook/request-headers.ts';

test('the User-Agent contains the version of the package', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ version: PACKAGE_VERSION });
  expect(DEFAULT_USER_AGENT).toBe(`security-event-delivery/${PACKAGE_VERSION}`);
});
