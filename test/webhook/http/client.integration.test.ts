/** Which certificates a poster trusts in a fresh process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Certificate, createCertificate } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { openReceiver } from '../../helpers/poster.ts';

/** Generous for a child process on a busy machine. */
const CHILD_TIMEOUT_MS = 20_000;

let certificate: Certificate;
beforeAll(() => {
  certificate = createCertificate();
});

describe('over TLS', () => {
  test.concurrent.for([
    ['is trusted for a name that it contains', 'localhost', { status: 200 }],
    ['is rejected for another name', '127.0.0.2', { code: 'tls' }],
  ] as const)(
    'a certificate %s',
    { timeout: CHILD_TIMEOUT_MS },
    async ([, urlHost, expected], context) => {
      const folder = await mkdtemp(path.join(tmpdir(), 'ca-'));
      context.onTestFinished(() => rm(folder, { recursive: true }));
      const trusted = path.join(folder, 'ca.pem');
      await writeFile(trusted, certificate.cert);
      const options = { tls: certificate, host: '0.0.0.0', urlHost };
      const receiver = await openReceiver(options, context.onTestFinished);
      const run = await runFixture('host-that-posts.ts', ['post over TLS', receiver.url], {
        NODE_EXTRA_CA_CERTS: trusted,
      });
      expect(JSON.parse(run.stdout)).toMatchObject(expected);
    },
  );
});
