/** D26-D30: the content of a message. */
import { MESSAGES } from '../samples.ts';
import { ABSENT, byReading } from './case.ts';
import { type Decision, fails, failsEmitted, fits, missing } from './decision.ts';

const NOT_OTHERS = [
  'vulnerable_packages',
  'http_scan',
  'user_risk_increased',
  'injection_sql',
] as const;

const ACCOUNTS = MESSAGES.account_takeover.message.new_compromised_accounts;

export const MESSAGE_DECISIONS: readonly Decision[] = [
  {
    title: 'D26 accepts unknown categories and kinds',
    cases: [
      fits('security_event', {
        'message.event_category': 'brand new',
        'message.event_kind': 'brand_new',
      }),
    ],
  },
  {
    title: 'D27 takes date_occured and writes date_occurred',
    cases: [
      fits(
        'security_event',
        {
          'message.date_occurred': ABSENT,
          'message.date_occured': '2026-11-21T10:00:00Z',
        },
        {
          'message.date_occured': ABSENT,
          'message.date_occurred': '2026-11-21T10:00:00Z',
        },
      ),
      fits(
        'event to send',
        {
          'message.date_occurred': ABSENT,
          'message.date_occured': '2026-11-21T10:00:00Z',
        },
        {
          'message.date_occured': ABSENT,
          'message.date_occurred': '2026-11-21T10:00:00Z',
        },
      ),
      fits(
        'security_event (v1)',
        { date_occurred: ABSENT, date_occured: '2026-11-21T10:00:00Z' },
        { date_occured: ABSENT, date_occurred: '2026-11-21T10:00:00Z' },
      ),
    ],
  },
  {
    title: 'D27 refuses a wrong date under either name, and an event without one',
    cases: [
      fails(
        'security_event',
        { 'message.date_occurred': ABSENT },
        missing('message.date_occurred', 'a string'),
      ),
      fails(
        'security_event',
        { 'message.date_occurred': ABSENT, 'message.date_occured': 'yesterday' },
        {
          at: 'message.date_occured',
          says: 'expected an ISO 8601 date-time with an offset, such as …+00:00, found a string',
        },
      ),
      failsEmitted(
        'security_event',
        { 'message.date_occured': '2026-11-21T10:00:00Z' },
        { at: 'message', says: 'unknown key "date_occured"' },
      ),
    ],
  },
  {
    title: 'D28 takes an event without ips, an empty geo and a geo without city',
    cases: [
      fits('security_event', { 'message.ips': [] }),
      fits('security_event', { 'message.ips.0.geo': {} }),
      fits('security_event', { 'message.ips.0.geo': { code: 'FRA', point: [-1.5, 48] } }),
    ],
  },
  {
    title: 'D28 refuses a half-filled geo and a point that is not two numbers',
    cases: [
      fails(
        'security_event',
        { 'message.ips.0.geo': { city: 'Lyon' } },
        missing('message.ips.0.geo.code', 'a string'),
        missing('message.ips.0.geo.point', 'an array'),
      ),
      fails(
        'security_event',
        { 'message.ips.0.geo': { code: 'FRA' } },
        missing('message.ips.0.geo.point', 'an array'),
      ),
      fails(
        'security_event',
        { 'message.ips.0.geo': { point: [1, 2] } },
        missing('message.ips.0.geo.code', 'a string'),
      ),
      fails(
        'security_event',
        { 'message.ips.0.geo.point': [] },
        { at: 'message.ips.0.geo.point', says: 'expected at least 2 elements, found 0' },
      ),
      fails(
        'security_event',
        { 'message.ips.0.geo.point': [1] },
        { at: 'message.ips.0.geo.point', says: 'expected at least 2 elements, found 1' },
      ),
    ],
  },
  {
    title: 'D28 lets real senders leave geo or is_tor out and add hostname',
    cases: [
      failsEmitted(
        'security_event',
        { 'message.ips.0.geo': ABSENT, 'message.ips.0.is_tor': ABSENT },
        missing('message.ips.0.geo', 'an object'),
        missing('message.ips.0.is_tor', 'true or false'),
      ),
      failsEmitted(
        'security_event',
        { 'message.ips.0.hostname': 'a.example' },
        { at: 'message.ips.0', says: 'unknown key "hostname"' },
      ),
    ],
  },
  {
    title: 'D29 takes an incident without related addresses and a takeover without accounts',
    cases: [
      fits('http_scan', { 'message.new_related_ips': [] }),
      fits('account_takeover', { 'message.new_compromised_accounts': ABSENT }),
      fits('account_takeover', { 'message.new_compromised_accounts': [] }),
    ],
  },
  {
    title: 'D29 keeps compromised accounts to account_takeover when emitted',
    cases: NOT_OTHERS.flatMap((name) => [
      failsEmitted(
        name,
        { 'message.new_compromised_accounts': ACCOUNTS },
        { at: 'message', says: 'unknown key "new_compromised_accounts"' },
      ),
      {
        on: name,
        set: { 'message.new_compromised_accounts': [5] },
        verdicts: byReading(
          { at: 'message', says: 'unknown key "new_compromised_accounts"' },
          {
            at: 'message.new_compromised_accounts.0',
            says: 'expected an object, found a number',
          },
        ),
      },
    ]),
  },
  {
    title: 'D29 takes a response without addresses or users, and asks for both arrays',
    cases: [
      fits('security_response', { 'message.properties': { ips: [], user_identifiers: [] } }),
      fails(
        'security_response',
        { 'message.properties': {} },
        missing('message.properties.ips', 'an array'),
        missing('message.properties.user_identifiers', 'an array'),
      ),
    ],
  },
  {
    title: 'D29 takes a bare address and plain user names when received alone',
    cases: [
      failsEmitted(
        'security_response',
        {
          'message.properties.ips.0.ip_cidr': '203.0.113.9',
          'message.properties.user_identifiers': ['jane', { email: 'x' }],
        },
        {
          at: 'message.properties.ips.0.ip_cidr',
          says: 'expected a CIDR such as 203.0.113.9/32, found a string',
        },
        {
          at: 'message.properties.user_identifiers.0',
          says: 'expected an object, found a string',
        },
      ),
    ],
  },
  {
    title: 'D30 lets a received test lack application_id, geo and is_tor, and have a risk',
    cases: [
      failsEmitted(
        'test',
        {
          'message.application_id': ABSENT,
          'message.ips.0.geo': ABSENT,
          'message.ips.0.is_tor': ABSENT,
          'message.risk': 5,
        },
        missing('message.application_id', 'a string'),
        missing('message.ips.0.geo', 'an object'),
        missing('message.ips.0.is_tor', 'true or false'),
        { at: 'message', says: 'unknown key "risk"' },
      ),
    ],
  },
];
