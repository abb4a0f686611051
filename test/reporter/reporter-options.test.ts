import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import { urlFrom } from '../../src/reporter/reporter-options.ts';
import { descriptorsOf, temporaryFolder } from '../helpers/temporary-files.ts';
import { SERVICE } from './open-reporter.ts';

test('urlFrom encodes ids of any characters', () => {
  const template = 'https://events.example/{id}?again={id}';
  expect(urlFrom(template, 'a b/ü')).toBe(
    'https://events.example/a%20b%2F%C3%BC?again=a%20b%2F%C3%BC',
  );
  expect(urlFrom('https://x.example/{id}', '\ud800x\udc00 \u{1f600}')).toBe(
    'https://x.example/%EF%BF%BDx%EF%BF%BD%20%F0%9F%98%80',
  );
});

test.runIf(process.platform === 'linux')(
  'createReporter closes the log file when the webhook options are invalid',
  async () => {
    const destination = join(temporaryFolder(), 'security.log');
    const options = { service: SERVICE, log: { destination }, webhook: { url: 'nonsense' } };
    expect(() => createReporter(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_/) }),
    );
    expect(existsSync(destination)).toBe(true);
    await expect.poll(() => descriptorsOf(destination)).toEqual([]);
  },
);

describe('options', () => {
  test.each([
    [{}, ['service']],
    [{ service: 7 }, ['service']],
    [{ service: { ...SERVICE, svc_id: '' } }, ['service', 'svc_id']],
    [{ service: { svc_id: 'a', name: 'b' } }, ['service', 'env']],
    [{ service: { ...SERVICE, envs: 'x' } }, ['service', 'envs']],
    [{ service: SERVICE, log: 1 }, ['log']],
    [{ service: SERVICE, log: { path: 'x' } }, ['log', 'path']],
    [{ service: SERVICE, log: { dialect: 'strict' } }, ['log', 'dialect']],
    [{ service: SERVICE, log: { sync: 1 } }, ['log', 'sync']],
    [{ service: SERVICE, log: { destination: '/' } }, ['log', 'destination']],
    [{ service: SERVICE, webhook: 'https://x.example' }, ['webhook']],
    [{ service: SERVICE, webhook: { url: 'https://x.example' } }, ['webhook', 'secret']],
    [{ service: SERVICE, webhook: { url: 'x', secret: 'y' } }, ['webhook', 'url']],
    [{ service: SERVICE, platform: 'splunk' }, ['platform']],
    [{ service: SERVICE, activeSpan: 1 }, ['activeSpan']],
    [{ service: SERVICE, dialect: 'loose' }, ['dialect']],
    [{ service: SERVICE, onRejected: 1 }, ['onRejected']],
    [{ service: SERVICE, beforeSend: 1 }, ['beforeSend']],
    [{ service: SERVICE, enabled: 'no' }, ['enabled']],
    [{ service: SERVICE, strict: 1 }, ['strict']],
    [{ service: SERVICE, context: {} }, ['context']],
    [{ service: SERVICE, enrichment: {} }, ['enrichment']],
    [{ service: SERVICE, suffix: 1 }, ['suffix']],
    [{ service: SERVICE, eventVocabulary: { xss: 1 } }, ['eventVocabulary', 'xss']],
    [{ service: SERVICE, incidentVocabulary: 1 }, ['incidentVocabulary']],
    [{ service: SERVICE, eventUrl: 'https://x.example/' }, ['eventUrl']],
    [{ service: SERVICE, eventUrl: '/{id}' }, ['eventUrl']],
    [{ service: SERVICE, incidents: {} }, ['incidents']],
    [{ service: SERVICE, webhooks: {} }, ['webhooks']],
  ])('are rejected by name if they are invalid: %j', (options, path) => {
    expect(() => createReporter(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_/), path }),
    );
  });
});

function fail(): never {
  throw new Error('of the host');
}

test.each(['service', 'log', 'webhook', 'enrichment', 'eventVocabulary', 'incidents'])(
  'the error names an option that cannot be read: %s',
  (name) => {
    const value = new Proxy({}, { get: fail, ownKeys: fail });
    expect(() => createReporter({ service: SERVICE, log: false, [name]: value })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [name] }),
    );
  },
);

test.each([
  ['an object with `write`', { write: () => {} }],
  ['process.stdout', process.stdout],
  ['a pino logger', pino({ enabled: false })],
])('log: %s is refused, and the error says where a destination belongs', (_what, log) => {
  expect(() => createReporter({ service: SERVICE, log: log as never })).toThrow(
    expect.objectContaining({
      path: ['log'],
      message: expect.stringContaining('expected a destination as `log: { destination }`'),
    }),
  );
});
