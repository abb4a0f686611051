import { describe, expect, it } from 'vitest';
import { messageRows, messageTitle, sizeText } from '../../../src/cli/listen/delivery-text.ts';
import { parseBody, type ReceivedMessage } from '../../../src/receiver/index.ts';
import { sampleMessage, sampleMessageV1 } from '../../../src/testing/index.ts';

const SENT = '2026-11-21T10:00:00.000+00:00';
const NOW = Date.parse(SENT) + 90_000;

function received(message: object): ReceivedMessage {
  const [found] = parseBody(JSON.stringify([message])).messages;
  if (found === undefined) throw new Error('the message is no message');
  return found;
}

const rowsOf = (message: object): Readonly<Record<string, string>> =>
  Object.fromEntries(messageRows(received(message), NOW));

describe('the rows of a message', () => {
  it('are those of a response', () => {
    const message = sampleMessage('security_response', {
      retry_count: 1,
      message: { properties: { user_identifiers: [{ email: 'ada@example.com' }] } },
    });
    expect(rowsOf(message)).toEqual({
      application: 'shop-1, shop, production',
      playbook: 'Block IPs, block_ips',
      addresses: '203.0.113.9/32',
      users: '1',
      sent: `${SENT} (1.5 min ago), attempt 2`,
    });
  });

  it('are those of an incident', () => {
    const message = sampleMessage('account_takeover', {
      date_created: '2026-11-21T10:01:40.000+00:00',
      message: {
        new_compromised_accounts: [
          {
            svc_id: 'a',
            user_identifiers: { email: 'ada@example.com' },
            ip_address: '203.0.113.9',
          },
        ],
      },
    });
    expect(rowsOf(message)).toEqual({
      application: 'shop-1',
      incident: 'incident-1, created',
      started: SENT,
      'last seen': SENT,
      accounts: '1',
      sent: '2026-11-21T10:01:40.000+00:00 (10 s in the future), first attempt',
    });
  });

  it('have no time of sending in format 1', () => {
    expect(rowsOf(sampleMessageV1('pulse'))).toEqual({
      application: 'shop-1, shop, production',
      genre: 'http_scan',
      started: SENT,
      description: 'Security scan',
      url: 'https://dashboard.example/incidents/incident-1',
    });
  });

  it('are those found in a message of an unknown type', () => {
    const message = {
      ...sampleMessage('http_scan'),
      message_type: 'of_tomorrow',
      message: { url: 'u' },
    };
    const found = received(message);
    expect(messageTitle(found)).toBe('of_tomorrow (unknown: message_type)');
    expect(messageRows(found, NOW)[0]).toEqual(['url', 'u']);
  });

  it('name five addresses and count the others', () => {
    const ips = Array.from({ length: 7 }, (_, index) => ({
      address: `203.0.113.${index}`,
      date_resolved: SENT,
      geo: {},
      is_tor: false,
    }));
    expect(rowsOf(sampleMessage('test', { message: { ips } }))).toMatchObject({
      addresses: '203.0.113.0, 203.0.113.1, 203.0.113.2, 203.0.113.3, 203.0.113.4 and 2 more',
    });
  });

  it('cut long values', () => {
    const message = sampleMessage('test', { message: { humanized_description: 'x'.repeat(301) } });
    expect(rowsOf(message)['description']).toBe(`${'x'.repeat(300)}…`);
  });

  it('name keys that the contract does not know', () => {
    const message = { ...sampleMessage('test'), trace: 1 };
    const found = received({ ...message, message: { ...message.message, 'a\u0007': 1 } });
    const { unknown } = Object.fromEntries(messageRows(found, NOW));
    expect(unknown?.split(', ').toSorted()).toEqual(['message.a\\u0007', 'trace']);
  });
});

it.each([
  [undefined, '2,000 bytes'],
  ['signature-wrong', '2,000 bytes'],
  ['body-too-large', 'more than 2 MiB'],
  ['body-late', 'body not read: too slow'],
  ['busy', 'body not read: too many at once'],
  ['incomplete', 'body not read: the sender disconnected'],
] as const)('the size of a body with refusal %s is "%s"', (reason, text) => {
  expect(sizeText(Buffer.alloc(2000), reason)).toBe(text);
});
