/** What `strict: true` throws: the errors that production passes to `onRejected`. */
import { describe, expect, test } from 'vitest';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import { ATTACK, INCIDENT, openReporter, openSendingReporter, SERVICE } from './open-reporter.ts';

function fail(): never {
  throw new Error('secret of the host');
}

describe('strict', () => {
  test('throws the error of an event', async () => {
    const { reporter } = await openSendingReporter({ strict: true });
    const invalid = expect.objectContaining({ code: 'ERR_INVALID_RECORD' });
    expect(() => reporter.attack({ ruleset: '' })).toThrow(invalid);
    const unreadable = Object.defineProperty({}, 'ruleset', { enumerable: true, get: fail });
    expect(() => reporter.attack(unreadable as never)).toThrow(invalid);
    expect(() => reporter.incident({ ...INCIDENT, severity: '' })).toThrow(invalid);
    expect(() => reporter.attack({ ruleset: 'xss' })).not.toThrow();
    expect(() => reporter.incident({ ...INCIDENT, related_ips: ['nonsense'] })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_MESSAGE' }),
    );
  });

  test('throws without a log, too', async () => {
    const reporter = createReporter({ service: SERVICE, log: false, strict: true });
    const actor = { ip: '203.0.113.9' };
    const invalid: readonly (readonly [() => unknown, readonly string[]])[] = [
      [() => reporter.attack({ rulest: 'xss' } as never, { actor }), ['payload', 'ruleset']],
      [() => reporter.userLogin({ success: 'no' } as never, { actor }), ['payload', 'success']],
      [() => reporter.incident({ ...INCIDENT, severity: '' }, { actor }), ['payload', 'severity']],
    ];
    for (const [call, path] of invalid) {
      expect(call).toThrow(expect.objectContaining({ code: 'ERR_INVALID_RECORD', path }));
    }
    expect(await reporter.incident(INCIDENT, { actor }).settled).toMatchObject({
      outcome: 'skipped',
    });
    expect(await reporter.stats()).toMatchObject({ written: 0 });
  });

  const actor = { ip: '203.0.113.9' };
  const message = { code: 'ERR_INVALID_MESSAGE' };
  const rated = { risk_coefficient: 101 };
  const emptyAccount = { compromised_accounts: [{}], incident_type: 'failed_auth_peak' };
  const accountPath = ['webhook', 'message', 'new_compromised_accounts', 0, 'svc_id'];
  test.each<[string, (to: Reporter) => unknown, object]>([
    [
      'a module that is no string',
      (to) => to.attack(ATTACK, { actor, module: null } as never),
      { code: 'ERR_INVALID_OPTION', path: ['context', 'module'] },
    ],
    [
      'overrides that are no object',
      (to) => to.attack(ATTACK, { actor, webhook: true } as never),
      { ...message, path: ['webhook'] },
    ],
    [
      'a rating above 100',
      (to) => to.attack(ATTACK, { actor, webhook: rated }),
      { ...message, path: ['webhook', 'message', 'risk_coefficient'] },
    ],
    [
      'an incident with a related address that is none',
      (to) => to.incident({ ...INCIDENT, related_ips: ['x'] }, { actor }),
      { ...message, path: ['payload', 'related_ips', 0] },
    ],
    [
      'an incident with an account without fields',
      (to) => to.incident({ ...INCIDENT, ...emptyAccount } as never, { actor }),
      { ...message, path: accountPath },
    ],
  ])('throws for the message of %s, with and without a webhook', async (_what, report, error) => {
    const invalid = expect.objectContaining(error);
    const { reporter, rejections } = openReporter({ strict: true });
    expect(() => report(reporter)).toThrow(invalid);
    expect(rejections()).toEqual([]);
    const sending = await openSendingReporter({ strict: true });
    expect(() => report(sending.reporter)).toThrow(invalid);
    expect(sending.rejected).toMatchObject([{ channel: 'webhook', error }]);
  });

  test('needs no valid message when none is wanted', async () => {
    const { reporter } = openReporter({ strict: true });
    const payload = { ...INCIDENT, related_ips: ['x'] };
    const { settled } = reporter.incident(payload, { actor, webhook: false });
    expect(await settled).toEqual({ outcome: 'skipped', reason: 'no-webhook' });
    expect(() => reporter.userLogin({ success: true }, { actor })).not.toThrow();
  });

  test('accepts what production accepts', async () => {
    const { reporter, rejections } = openReporter({ strict: true });
    const ipv6 = { ip: '2001:db8::7' };
    const type = 'a_new_type';
    reporter.attack({ ruleset: 'a_new_word' }, { actor: ipv6, module: 'waf' });
    reporter.playbookTrigger({ name: 'Block IPs' }, { actor: ipv6 });
    reporter.incident({ ...INCIDENT, related_ips: ['::1'] }, { actor: ipv6 });
    reporter.incident({ ...INCIDENT, incident_type: type }, { webhook: { message_type: type } });
    reporter.incident({ ...INCIDENT, incident_type: type });
    expect([(await reporter.stats()).written, rejections()]).toEqual([5, []]);
  });
});

test.each([
  ['text', ['context']],
  [null, ['context']],
  [{ actr: { ip: '203.0.113.9' } }, ['context', 'actr']],
  [{ detectedAt: new Date() }, ['context', 'detectedAt']],
  [{ webhook: { titel: 'XSS' } }, ['context', 'webhook', 'titel']],
])('strict rejects an unusable context or an unknown key of it: %j', (context, path) => {
  const { reporter, sink, rejections } = openReporter({ strict: true });
  expect(() => reporter.attack({ ruleset: 'xss' }, context as never)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }),
  );
  expect([sink.lines, rejections()]).toEqual([[], ['log ERR_INVALID_OPTION']]);
});
