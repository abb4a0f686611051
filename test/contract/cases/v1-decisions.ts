/** D41-D45: format v1. */
import { ELEMENTS, MESSAGES, namesOf, PULSE_DETAILS } from '../samples.ts';
import { ABSENT, byReading, type Refusal } from './case.ts';
import { type Decision, fails, failsEmitted, fits, missing } from './decision.ts';

const MISSING_AT_TOP: readonly Refusal[] = [
  missing('application_name', 'a string'),
  missing('environment', 'a string'),
  missing('event_category', 'a string'),
  missing('event_kind', 'a string'),
  missing('date_occurred', 'a string'),
  missing('humanized_description', 'a string'),
  missing('ips', 'an array'),
];

export const V1_DECISIONS: readonly Decision[] = [
  {
    title: 'D41 takes null and any string as the id of a v1 security_response',
    cases: [
      fits('security_response (v1)', { id: null }),
      fits('security_response (v1)', { id: '' }),
      fails('security_response (v1)', { id: ABSENT }, missing('id', 'a string')),
    ],
  },
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
        missing('event_url', 'a string'),
      ),
      failsEmitted(
        'security_event (v1)',
        { event_id: ABSENT, url: ABSENT },
        missing('event_id', 'a string'),
      ),
      failsEmitted(
        'security_event (v1)',
        { event_url: ABSENT, id: ABSENT },
        missing('event_url', 'a string'),
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
        missing('event_url', 'a string'),
      ),
    ],
  },
  {
    title: 'D42 takes v1 events without the optional fields',
    cases: (['security_event (v1)', 'test (v1)'] as const).map((name) =>
      fits(name, {
        risk: ABSENT,
        application_account_account_id: ABSENT,
        application_account_account_keys: ABSENT,
        application_account_url: ABSENT,
        id: ABSENT,
        url: ABSENT,
        ...(name === 'test (v1)' ? { application_id: ABSENT } : {}),
      }),
    ),
  },
  {
    title: 'D43 takes null for what a pulse may not know, and for nothing else',
    cases: [
      fits('pulse', {
        pulse_category: null,
        date_ended: null,
        humanized_accounts: null,
        humanized_geos: null,
      }),
      fails(
        'pulse',
        { humanized_title: null },
        { at: 'humanized_title', says: 'expected a string, found null' },
      ),
    ],
  },
  {
    title: 'D43 lets a caller give any of the pulse beside an incident, and beside nothing else',
    cases: [
      fits('incident to send', { v1: {} }),
      fits('incident to send', { v1: ABSENT }),
      ...Object.entries(PULSE_DETAILS).map(([key, value]) =>
        fits('incident to send', { v1: { [key]: value } }),
      ),
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
  {
    title: 'D45 has no retry_count in v1',
    cases: namesOf(ELEMENTS).map((name) =>
      failsEmitted(name, { retry_count: 0 }, { at: '', says: 'unknown key "retry_count"' }),
    ),
  },
];
