/** Messages of events. The contract validates each. */
import { describe, expect, test } from 'vitest';
import { describeAddress } from '../../src/capture/enrichment/describe-address.ts';
import { type LogActor, messageToSend } from '../../src/contract/index.ts';
import {
  type EventData,
  incidentMessage,
  securityEvent,
  securityResponse,
} from '../../src/projection/event-messages.ts';
import { findEventTerms } from '../../src/projection/vocabulary-map.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const AT = '2026-08-01T12:00:00.000+00:00';
const BEFORE = '2026-08-01T11:00:00.000+00:00';

const ipOf = (address: string): LogActor['ip'] => describeAddress(address) as LogActor['ip'];

const IP: LogActor['ip'] = {
  address: '203.0.113.9',
  geo: { city: 'Lyon', country_code: 'FRA', latitude: 45.75, longitude: 4.85 },
  metadata: {
    ...ipOf('203.0.113.9').metadata,
    tor: true,
    vpn: true,
    datacenter: { name: 'Example DC', url: 'https://dc.example' },
  },
};

const ACTOR: LogActor = { identifiers: { uid: 7 }, ip: IP, svc_identifier: null };

const eventOf = (payload: object, actor: LogActor | undefined = ACTOR): EventData => ({
  service: SERVICE,
  payload: { ...payload },
  actor,
  occurredAt: AT,
});

const checked = (message_type: string, message: object): unknown =>
  messageToSend('strict').parse({ message_type, message });

describe('a security event', () => {
  const fields = { terms: findEventTerms('sql_injection'), id: 'event-1', url: 'urn:uuid:event-1' };

  test('contains the application, the terms and the address with its location', () => {
    const message = securityEvent(eventOf({}), fields);
    expect(message).toEqual({
      application_id: 'shop-1',
      application_name: 'shop',
      environment: 'production',
      date_occurred: AT,
      event_category: 'injection',
      event_id: 'event-1',
      event_kind: 'sql_injection',
      event_url: 'urn:uuid:event-1',
      humanized_description: 'SQL injection from 203.0.113.9',
      ips: [
        {
          address: '203.0.113.9',
          date_resolved: AT,
          geo: { city: 'Lyon', code: 'FRA', point: [4.85, 45.75] },
          is_tor: true,
        },
      ],
    });
    expect(checked('security_event', message)).toEqual({ message_type: 'security_event', message });
  });
});

describe('a security response', () => {
  const playbook = { name: 'Block IPs v2.1', playbook_slug: 'block_ips_v2.1' };

  test.each([
    [undefined, [], []],
    [ACTOR, [{ ip_cidr: '203.0.113.9/32' }], [{ uid: 7 }]],
    [{ ...ACTOR, identifiers: null }, [{ ip_cidr: '203.0.113.9/32' }], []],
    [
      { ...ACTOR, identifiers: null, ip: ipOf('2001:db8::7') },
      [{ ip_cidr: '2001:db8::7/128' }],
      [],
    ],
    [{ ...ACTOR, ip: ipOf('0.0.0.0') }, [], [{ uid: 7 }]],
    [{ ...ACTOR, ip: ipOf('::') }, [], [{ uid: 7 }]],
  ])('contains the known address and user, case %#', (actor, ips, user_identifiers) => {
    const message = securityResponse({ ...eventOf(playbook), actor });
    expect(message.properties).toEqual({ ips, user_identifiers });
    expect(message.playbook).toEqual({ name: 'Block IPs v2.1', id: 'block_ips_v2.1' });
    checked('security_response', message);
  });
});

describe('an incident', () => {
  const account = { svc_id: 'a-1', user_identifiers: { uid: 7 }, ip_address: '203.0.113.9' };
  const event = eventOf({ incident_id: 'incident-1' });
  const fields = {
    isCreated: true,
    startedAt: BEFORE,
    newIps: [IP],
    newAccounts: [account],
    messageType: 'account_takeover',
  };

  test('lists addresses and accounts for an account takeover', () => {
    const message = incidentMessage(event, fields);
    expect(message).toEqual({
      incident_thread: 'incident-1',
      incident_status: 'created',
      date_started: BEFORE,
      date_last_updated: AT,
      application_id: 'shop-1',
      new_related_ips: [
        {
          address: '203.0.113.9',
          date_resolved: AT,
          geo: { city: 'Lyon', code: 'FRA', point: [4.85, 45.75] },
          is_tor: true,
          vpn: true,
          proxy: false,
          datacenter: true,
          metadata: {
            version: 4,
            multicast: false,
            private: true,
            global: false,
            unspecified: false,
            reserved: false,
            loopback: false,
          },
          tags: [],
        },
      ],
      new_compromised_accounts: [account],
    });
    checked('account_takeover', message);
  });

  test.each([
    ['injection_sql', [account]],
    ['account_takeover', []],
  ])('of the type %s with the accounts %j has no list of accounts', (messageType, newAccounts) => {
    const message = incidentMessage(event, { ...fields, messageType, newAccounts, newIps: [] });
    expect(message).not.toHaveProperty('new_compromised_accounts');
    expect(message.new_related_ips).toEqual([]);
    checked(messageType, message);
  });
});
