/** D20-D25: the envelope of a message and its type. */
import { MESSAGES, namesOf, SAMPLES, type SampleName } from '../samples.ts';
import { ABSENT, type Change, everywhere, type Refusal, type Verdict } from './case.ts';
import { type Decision, fails, failsEmitted, fits, missing } from './decision.ts';
import { oneOf, WORDS } from './words.ts';

const TYPES = oneOf([...WORDS.messageTypes, ...WORDS.incidentMessageTypes, 'injection_…']);
const unknownType = (found: string): Refusal => ({
  at: 'message_type',
  says: `${TYPES}, found ${found}`,
});

/** D25: no type that the strict emitted reading knows. */
const strictlyUnknown = (on: SampleName, set: Change['set'], found: string): Change => ({
  on,
  set,
  verdicts: { ...everywhere(true), 'strict emitted': unknownType(found) },
});

const NOT_AN_INCIDENT: Verdict = [
  missing('message.incident_thread', 'a string'),
  { at: 'message.incident_status', says: 'expected one of "created", "updated", found nothing' },
  missing('message.date_started', 'an ISO 8601 date-time with an offset, such as …+00:00'),
  missing('message.date_last_updated', 'an ISO 8601 date-time with an offset, such as …+00:00'),
  missing('message.application_id', 'a string'),
  missing('message.new_related_ips', 'an array'),
];

const EVERY_MESSAGE = namesOf(MESSAGES);
const WITHOUT_ID = EVERY_MESSAGE.filter((name) => name !== 'security_response');

const withKey = (on: SampleName, from: string, to: string, id: unknown): Change['set'] => ({
  '': Object.fromEntries(
    Object.entries({ ...SAMPLES[on] }).map(([key, value]) =>
      key === from ? [to, id] : [key, value],
    ),
  ),
});

const identified = (on: SampleName, id: unknown): Change['set'] =>
  withKey(on, 'message_id', 'id', id);

export const ENVELOPE_DECISIONS: readonly Decision[] = [
  {
    title: 'D20 leaves the envelope to the senders: a message to send has none',
    cases: [
      fails(
        'event to send',
        { api_version: '2', date_created: '2026-11-21T10:00:00Z', retry_count: 0 },
        { at: '', says: 'unknown keys "api_version", "date_created", "retry_count"' },
      ),
      fits('event to send', { message_id: ABSENT }),
    ],
  },
  {
    title: 'D21 takes id for message_id in a security_response, and writes message_id',
    cases: [
      {
        ...fits('security_response', identified('security_response', 'r-1')),
        becomes: { id: ABSENT, message_id: 'r-1' },
      },
      fails('security_response', identified('security_response', ''), {
        at: 'id',
        says: 'expected a non-empty string, found an empty string',
      }),
      fails('security_response', identified('security_response', 5), {
        at: 'id',
        says: 'expected a string, found a number',
      }),
    ],
  },
  {
    title: 'D21 takes id or null anywhere, but only when received',
    cases: [
      ...WITHOUT_ID.map(
        (name): Change => ({
          ...failsEmitted(name, identified(name, 'm-1'), missing('message_id', 'a string'), {
            at: '',
            says: 'unknown key "id"',
          }),
          becomes: { id: ABSENT, message_id: 'm-1' },
        }),
      ),
      ...EVERY_MESSAGE.map((name) =>
        failsEmitted(
          name,
          { message_id: null },
          { at: 'message_id', says: 'expected a string, found null' },
        ),
      ),
      {
        ...failsEmitted('security_response', identified('security_response', null), {
          at: 'id',
          says: 'expected a string, found null',
        }),
        becomes: { id: ABSENT, message_id: null },
      },
      {
        ...failsEmitted(
          'security_response',
          { ...identified('security_response', 'r-1'), more: 1 },
          { at: '', says: 'unknown key "more"' },
        ),
        becomes: { id: ABSENT, message_id: 'r-1' },
      },
    ],
  },
  {
    title: 'D21 takes message_id where id stands beside it, and keeps id when received',
    cases: EVERY_MESSAGE.map((name) =>
      failsEmitted(name, { id: 'other' }, { at: '', says: 'unknown key "id"' }),
    ),
  },
  {
    title: 'D25 takes injection_ with any word as an incident type',
    cases: ['injection_xxe', 'injection_x', 'injection_ünï.1', 'injection_injection_'].map((type) =>
      fits('injection_sql', { message_type: type }),
    ),
  },
  {
    title: 'D25 takes other types for incidents, but in the strict emitted reading',
    cases: [
      strictlyUnknown('http_scan', { message_type: 'brute_force' }, '"brute_force"'),
      strictlyUnknown('http_scan', { message_type: 'injection_' }, '"injection_"'),
      strictlyUnknown('http_scan', { message_type: 'injection_a b' }, 'a string'),
      strictlyUnknown('http_scan', { message_type: 'an injection_a' }, 'a string'),
      strictlyUnknown(
        'http_scan',
        { message_type: 'Security_Event' },
        '"Security_Event"; did you mean "security_event"?',
      ),
      strictlyUnknown('http_scan', { message_type: 'constructor' }, '"constructor"'),
      strictlyUnknown('incident to send', { message_type: 'brute_force' }, '"brute_force"'),
    ],
  },
  {
    title: 'D25 takes any object in an unknown type when received, an incident when emitted open',
    cases: [{}, { anything: [1] }].map(
      (message): Change => ({
        on: 'http_scan',
        set: { message_type: 'brute_force', message },
        verdicts: {
          'strict emitted': unknownType('"brute_force"'),
          'strict received': true,
          'open emitted': [
            ...NOT_AN_INCIDENT,
            ...('anything' in message ? [{ at: 'message', says: 'unknown key "anything"' }] : []),
          ],
          'open received': true,
        },
      }),
    ),
  },
  {
    title: 'D25 refuses an unknown type whose message is no object',
    cases: [
      { value: 5, kind: 'a number' },
      { value: null, kind: 'null' },
      { value: [], kind: 'an array' },
    ].map(
      ({ value, kind }): Change => ({
        on: 'http_scan',
        set: { message_type: 'brute_force', message: value },
        verdicts: {
          ...everywhere({ at: 'message', says: `expected an object, found ${kind}` }),
          'strict emitted': unknownType('"brute_force"'),
        },
      }),
    ),
  },
  {
    title: 'D25 refuses a message_type that is empty or no string',
    cases: [
      fails('http_scan', { message_type: ABSENT }, unknownType('nothing')),
      fails('http_scan', { message_type: '' }, unknownType('an empty string')),
      fails('http_scan', { message_type: null }, unknownType('null')),
      fails('http_scan', { message_type: 5 }, unknownType('5')),
      fails('http_scan', { message_type: ['http_scan'] }, unknownType('an array')),
    ],
  },
  {
    title: 'D25 requires the message of its message_type, and reports no faults of others',
    cases: [
      fails('http_scan', { message: {} }, ...NOT_AN_INCIDENT),
      fails(
        'security_response',
        { message: {} },
        missing('message.application', 'an object'),
        missing('message.properties', 'an object'),
        missing('message.playbook', 'an object'),
      ),
    ],
  },
];
