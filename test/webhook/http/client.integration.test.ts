/** What a process of its own does with a poster: which certificates it trusts, and when it ends. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Certificate, createCertificate } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import {
  hang,
  type Receiver,
  type ReceiverOptions,
  respond,
  startReceiver,
} from '../../helpers/receiver.ts';

/** A child process on a busy machine. */
const CHILD_TIMEOUT_MS = 20_000;

let certificate: Certificate;
beforeAll(() => {
  certificate = createCertificate();
});

/** A concurrent test has an `onTestFinished` of its own in its context. */
async function openReceiver(
  options: ReceiverOptions,
  onFinished: (close: () => Promise<void>) => void,
): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onFinished(() => receiver.close());
  return receiver;
}

describe('over TLS', () => {
  test.concurrent.for([
    ['is trusted for a name that the machine trusts it for', 'localhost', { status: 200 }],
    ['is refused for another name', '127.0.0.2', { code: 'tls' }],
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

describe('close', () => {
  test.concurrent.for([
    ['without close after a finished post', 'exit without close', 'http', { kind: 'response' }],
    ['after close, though a post was hanging', 'exit after close', 'http', { code: 'aborted' }],
    [
      'after close, though a handshake was hanging',
      'exit after close',
      'https',
      { code: 'aborted' },
    ],
  ] as const)(
    'a process ends at once %s',
    { timeout: CHILD_TIMEOUT_MS },
    async ([, scene, scheme, expected], context) => {
      const step = scene === 'exit without close' ? respond() : hang();
      const receiver = await openReceiver({ script: [step] }, context.onTestFinished);
      const url = receiver.url.replace('http', scheme);
      const run = await runFixture('host-that-posts.ts', [scene, url]);
      expect({ ...run, stdout: JSON.parse(run.stdout), lingeredMs: 0 }).toEqual({
        exitCode: 0,
        stdout: expected,
        stderr: '',
        lingeredMs: 0,
      });
      // What would hold it, an idle connection or a deadline, takes 4 s at least.
      expect(run.lingeredMs).toBeLessThan(3000);
    },
  );
});
