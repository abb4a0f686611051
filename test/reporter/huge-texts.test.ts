/** Texts of millions of characters, wherever an event may have one. */
import { describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/reporter/receipt.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import { INCIDENT, openReporter, openSendingReporter } from './open-reporter.ts';

describe('two million characters', () => {
  const TEXT = 'x'.repeat(2_000_000);
  const logOnly = { outcome: 'skipped', reason: 'log-only' };
  const tooLarge = { outcome: 'rejected', reason: 'ERR_MESSAGE_TOO_LARGE' };
  const delivered = { outcome: 'delivered' };

  test.each<[string, (reporter: Reporter) => Receipt, object]>([
    ['a ruleset', (to) => to.attack({ ruleset: TEXT }), tooLarge],
    ['the id of an incident', (to) => to.incident({ ...INCIDENT, incident_id: TEXT }), tooLarge],
    ['the name of an incident', (to) => to.incident({ ...INCIDENT, name: TEXT }), delivered],
    ['the name of a custom event', (to) => to.customEvent(TEXT, {}), logOnly],
  ])(
    'as %s are written, and sent unless the message is too large',
    async (_name, report, settlement) => {
      const { reporter, sink, rejected } = await openSendingReporter();
      expect(await report(reporter).settled).toEqual(settlement);
      expect(sink.lines).toHaveLength(1);
      expect(sink.lines[0]?.length).toBeGreaterThan(2_000_000);
      expect(rejected.map(({ channel }) => channel)).toEqual(
        settlement === tooLarge ? ['webhook'] : [],
      );
    },
  );

  test.each([
    ['the address of an actor', { actor: { ip: TEXT } }],
    ['an address of digits', { actor: { ip: '1.'.repeat(1_000_000) } }],
    ['an address of colons', { actor: { ip: ':'.repeat(2_000_000) } }],
    ['an id in base64', { actor: { ip: '203.0.113.9', svc_identifier: 'x'.repeat(10_000_000) } }],
    ['a time of digits', { detected_at: `2026-11-21T10:00:00.${'0'.repeat(2_000_000)}` }],
  ])('as %s are rejected on channel A', async (_name, context) => {
    const { reporter, sink, rejected } = openReporter();
    expect(await reporter.attack({ ruleset: 'xss' }, context).settled).toMatchObject({
      reason: 'no-webhook',
    });
    expect(sink.lines).toEqual([]);
    expect(rejected).toMatchObject([{ channel: 'log', context }]);
    expect(rejected[0]?.error).toMatchObject({ code: 'ERR_INVALID_RECORD' });
    expect(rejected[0]?.error.message.length).toBeLessThan(1000);
  });
});
