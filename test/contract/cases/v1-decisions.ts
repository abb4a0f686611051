/** D41-D45: format 1. */
import { MESSAGES } from '../samples.ts';
import { ABSENT, byReading, type Refusal } from './case.ts';
import { type Decision, fails, failsEmitted, missing } from './decision.ts';

const MISSING_AT_TOP: readonly Refusal[] = [
  missing('application_name', 'a string'),
  missing('environment', 'a string'),
  missing('event_category', 'a string'),
  missing('event_kind', 'a string'),
  missing('date_occurred', 'an ISO 8601 date-time with an offset, such as …+00:00'),
  missing('humanized_description', 'a string'),
  missing('ips', 'an array'),
];

export const V1_DECISIONS: readonly Decision[] = [
  {
    title: 'D41 asks a v1 event for its fields at the top, not under message',
    cases: [
      {
        on: 'test (v1)',
        set: { '': { svc_payload_type: 'test', message: MESSAGES.test.message } },
        verdicts: byReading(
          [...MISSING_AT_TOP, { at: '', says: 'unknown key "message"' }],
          MISSING_AT_TOP,
        ),
      },
    ],
  },
  {
    title:
      'D41 takes a received v1 event with real names in the place of event_id, event_url and application_id',
    cases: [
      failsEmitted(
        'security_event (v1)',
        { event_id: ABSENT, event_url: ABSENT, application_id: ABSENT },
        missing('application_id', 'a string'),
        missing('event_id', 'a string'),
        missing('event_url', 'an absolute URL'),
      ),
      failsEmitted(
        'security_event (v1)',
        { event_id: ABSENT, url: ABSENT },
        missing('event_id', 'a string'),
      ),
      failsEmitted(
        'security_event (v1)',
        { event_url: ABSENT, id: ABSENT },
        missing('event_url', 'an absolute URL'),
      ),
      {
        on: 'security_event (v1)',
        set: { event_id: ABSENT, date_occurred: ABSENT, date_occured: '2026-11-21T10:00:00Z' },
        becomes: { date_occured: ABSENT, date_occurred: '2026-11-21T10:00:00Z' },
        verdicts: byReading([missing('event_id', 'a string')], true),
      },
      fails(
        'security_event (v1)',
        { event_id: ABSENT, id: ABSENT },
        missing('event_id', 'a string'),
      ),
      fails(
        'security_event (v1)',
        { event_url: ABSENT, url: ABSENT },
        missing('event_url', 'an absolute URL'),
      ),
    ],
  },
  {
    title:
      'D43 refuses the payload type of a pulse beside an incident, and any pulse beside another message',
    cases: [
      fails(
        'incident to send',
        { 'v1.svc_payload_type': 'pulse' },
        { at: 'v1', says: 'unknown key "svc_payload_type"' },
      ),
      ...(['event to send', 'response to send', 'test to send'] as const).map((name) =>
        fails(name, { v1: {} }, { at: '', says: 'unknown key "v1"' }),
      ),
    ],
  },
];
