/** D26-D30: the content of a message. */
import { MESSAGES } from '../samples.ts';
import { ABSENT, byReading } from './case.ts';
import { type Decision, fails, failsEmitted, fits, halfFilled, missing } from './decision.ts';

const NOT_OTHERS = [
  'vulnerable_packages',
  'http_scan',
  'user_risk_increased',
  'injection_sql',
] as const;

const ACCOUNTS = MESSAGES.account_takeover.message.new_compromised_accounts;

export const MESSAGE_DECISIONS: readonly Decision[] = [
  {
    title: 'D27 takes date_occured and writes date_occurred',
    cases: [
      ...(['security_event', 'event to send'] as const).map((name) =>
        fits(
          name,
          { 'message.date_occurred': ABSENT, 'message.date_occured': '2026-11-21T10:00:00Z' },
          { 'message.date_occured': ABSENT, 'message.date_occurred': '2026-11-21T10:00:00Z' },
        ),
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
        missing('message.date_occurred', 'an ISO 8601 date-time with an offset, such as …+00:00'),
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
    title: 'D28 refuses a half-filled geo and a point that is not two numbers',
    cases: [
      ...[{ city: 'Lyon' }, { code: 'FRA' }, { point: [1, 2] }].map((given) =>
        halfFilled('security_event', 'message.ips.0.geo', given),
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
          { at: 'message.new_compromised_accounts.0', says: 'expected an object, found a number' },
        ),
      },
    ]),
  },
];
