import { describe, expect, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';

describe('NODE_DEBUG=security-events', () => {
  test('prints the events of reporters and log writers, and why an event is rejected', async () => {
    const env = { NODE_DEBUG: 'security-events' };
    const { stderr } = await runFixture('host-that-misspells.ts', [], env);
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => /^SECURITY-EVENTS \d+: (\S+) (.*)$/.exec(line)?.slice(1));
    expect(events.map((event) => [event?.[0], JSON.parse(event?.[1] ?? '')])).toEqual([
      ['record-written', { event_name: 'svc.ev0.threat.attack' }],
      [
        'rejected',
        {
          channel: 'log',
          method: 'attack',
          code: 'ERR_INVALID_RECORD',
          message: expect.stringContaining('payload.ruleset: expected a string'),
        },
      ],
    ]);
  });

  test('prints why functions among the options failed', async () => {
    const env = { NODE_DEBUG: 'security-events' };
    const { stderr } = await runFixture('host-with-failing-options.ts', [], env);
    const errors = [...stderr.matchAll(/^SECURITY-EVENTS \d+: (.*Error: .*)$/gm)];
    expect(errors.map(([, error]) => error)).toEqual([
      'context Error: context failed',
      'context TypeError: expected a context, found a promise',
      'isLogin Error: isLogin failed',
      'identifiersOf Error: identifiersOf failed',
    ]);
  });

  test.each(['host-that-misspells.ts', 'host-with-failing-options.ts'])(
    'is needed for that: %s',
    async (fixture) => {
      expect((await runFixture(fixture, [])).stderr).toBe('');
    },
  );
});
