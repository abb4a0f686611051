/** Which certificates a poster trusts in a fresh process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { openReceiver } from '../../helpers/poster.ts';

test('a certificate of NODE_EXTRA_CA_CERTS is trusted', async () => {
  const certificate = createCertificate();
  const folder = await mkdtemp(path.join(tmpdir(), 'ca-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const trusted = path.join(folder, 'ca.pem');
  await writeFile(trusted, certificate.cert);
  const receiver = await openReceiver({ tls: certificate, urlHost: 'localhost' });
  const run = await runFixture('host-that-posts.ts', ['post over TLS', receiver.url], {
    NODE_EXTRA_CA_CERTS: trusted,
  });
  expect(JSON.parse(run.stdout)).toMatchObject({ status: 200 });
});
