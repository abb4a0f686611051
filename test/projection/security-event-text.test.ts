import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messageToSend } from '../../src/contract/index.ts';
import { securityEvent } from '../../src/projection/security-event.ts';
import { securityEventText, urnOf } from '../../src/projection/security-event-text.ts';
import { anyText } from '../contract/cases/texts.ts';
import { RECORDS } from '../contract/samples.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const text = fc.oneof(anyText, fc.constantFrom('shop', 'é"\\', '\ud800', ''));
const metadata = { ...RECORDS.attack.context.actor.ip.metadata, version: 4 as const };

const ip = fc.record({
  address: fc.constantFrom('203.0.113.9', '2001:db8::7', 'nowhere'),
  geo: fc.oneof(
    fc.constant({}),
    fc.record({
      city: text,
      country_code: fc.constantFrom('FRA', 'fr'),
      latitude: fc.double(),
      longitude: fc.double(),
    }),
  ),
  metadata: fc.boolean().map((tor) => ({ ...metadata, tor })),
});

const source = fc.record({
  service: fc.record({ svc_id: text, name: text, env: text }),
  words: fc.record({ category: text, kind: text, title: text }),
  ip: fc.option(ip, { nil: undefined }),
  occurredAt: fc.constantFrom('2026-08-01T12:00:00.000+00:00', '1969-12-31T23:59:59.999Z', 'now'),
  id: text,
  url: fc.option(fc.oneof(fc.webUrl(), text), { nil: undefined }),
});

type Source = typeof source extends fc.Arbitrary<infer T> ? T : never;

function joined({ service, words, ip: of, occurredAt, id, url }: Source): string | undefined {
  const maker = securityEventText(service);
  const [wordTexts, time] = [maker?.words(words), maker?.time(occurredAt)];
  const address = of && maker?.address(of);
  const isWhole = wordTexts && time && (of === undefined || address);
  return isWhole ? maker?.join({ words: wordTexts, address, time, id, url }) : undefined;
}

test('what is joined is the JSON of the event, and is refused where the contract refuses the event', () => {
  const taken = { joined: 0, refused: 0 };
  fc.assert(
    fc.property(source, (given) => {
      const { id, url = urnOf(id) } = given;
      const message = securityEvent({ ...given, url });
      // An id of ours has no white space, which the contract refuses in the URN.
      fc.pre(given.url !== undefined || /^\S*$/.test(id));
      const draft = { message_type: 'security_event', message };
      const { success } = messageToSend('strict').safeParse(draft);
      const whole = joined(given);
      taken[success ? 'joined' : 'refused'] += 1;
      expect(whole).toBe(success ? JSON.stringify(message) : undefined);
    }),
    { numRuns: quickOrNightly(1000, 20_000), seed: 4 },
  );
  expect(Math.min(taken.joined, taken.refused)).toBeGreaterThan(50);
});
