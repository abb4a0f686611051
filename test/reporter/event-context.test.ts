import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { describeAddress } from '../../src/capture/enrichment/describe-address.ts';
import { createEnrichment } from '../../src/capture/enrichment/enrichers.ts';
import { createRequestCapture } from '../../src/capture/request/request-capture.ts';
import { identify } from '../../src/capture/request/request-scope.ts';
import type { LogActor } from '../../src/contract/index.ts';
import { ATTACK, openReporter, openSendingReporter, SERVICE } from './open-reporter.ts';

const FACTS = describeAddress('203.0.113.9') as LogActor['ip'];
const MAPPED = { ...FACTS, address: '::ffff:203.0.113.9' };

describe('the context of an event', () => {
  const REQUEST = {
    method: 'POST',
    url: '/login?next=%2F',
    headers: { host: 'shop.example' },
    socket: { remoteAddress: '203.0.113.9', remotePort: 4711 },
  };
  const inRequest = (work: () => void): void => createRequestCapture().run(REQUEST, work);

  test('is that of the current request and its user, also for a method passed on alone', () => {
    const { reporter, records } = openReporter();
    const { attack } = reporter;
    inRequest(() => {
      identify({ uid: 7 });
      attack(ATTACK);
    });
    expect(records()[0].context).toMatchObject({
      actor: { identifiers: { uid: 7 }, ip: { address: '203.0.113.9' } },
      http: { request: { path: '/login', remote_port: '4711' }, response: { blocked: false } },
      service: SERVICE,
    });
  });

  test.each([
    ['identifiers alone', { identifiers: { uid: 8 } }, { uid: 8 }, '203.0.113.9'],
    ['the same address', { ip: '::ffff:203.0.113.9' }, { uid: 7 }, '203.0.113.9'],
    ['the facts of the same address', { ip: MAPPED }, { uid: 7 }, '203.0.113.9'],
    ['another address, which is another actor', { ip: '203.0.113.10' }, null, '203.0.113.10'],
    ['an empty actor', {}, { uid: 7 }, '203.0.113.9'],
  ])('is completed from the request: %s', (_name, actor, identifiers, address) => {
    const { reporter, records } = openReporter();
    inRequest(() => {
      identify({ uid: 7 });
      reporter.attack(ATTACK, { actor });
    });
    expect(records()[0].context.actor).toMatchObject({ identifiers, ip: { address } });
  });

  test('is empty outside of a request', () => {
    const { reporter, records } = openReporter();
    reporter.attack(ATTACK);
    expect(records()[0].context).toEqual({ service: SERVICE });
  });

  test('comes from the context function, and is empty if that throws', () => {
    const { reporter, records } = openReporter({
      context: () => createRequestCapture().contextOf(REQUEST),
    });
    reporter.attack(ATTACK);
    expect(records()[0].context.actor.ip.address).toBe('203.0.113.9');
    const failing = openReporter({ context: () => JSON.parse('{') });
    failing.reporter.attack(ATTACK);
    expect(failing.records()[0].context).toEqual({ service: SERVICE });
  });

  test('has the facts of enrichers for an address given as text', () => {
    const enrichment = createEnrichment({ enrichers: [() => ({ tor: true })] });
    const { reporter, records } = openReporter({ enrichment });
    reporter.attack(ATTACK, { actor: { ip: '8.8.8.8' } });
    expect(records()[0].context.actor.ip.metadata.tor).toBe(true);
  });

  test.each<[Date | string, string, string]>([
    [new Date('2026-08-01T12:00:00Z'), '2026-08-01T12:00:00.000Z', '2026-08-01T12:00:00.000+00:00'],
    // Of a test sandbox.
    [runInNewContext('new Date(0)'), '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000+00:00'],
    ['2026-08-01T14:00:00+02:00', '2026-08-01T14:00:00+02:00', '2026-08-01T12:00:00.000+00:00'],
  ])('has the time of the call: %s', async (detected_at, onLog, onWebhook) => {
    const { reporter, records, messages } = await openSendingReporter();
    await reporter.attack(ATTACK, { detected_at }).settled;
    expect(records()[0].detected_at).toBe(onLog);
    expect(messages()[0]?.message).toMatchObject({ date_occurred: onWebhook });
  });
});
