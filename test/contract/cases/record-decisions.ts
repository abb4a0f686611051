/** D0-D3: the envelope of a record. */
import { namesOf, RECORDS } from '../samples.ts';
import { ABSENT, byDialect, type Change, type Refusal } from './case.ts';
import { type Decision, fails, failsEmitted, fits, missing } from './decision.ts';
import { oneOf, WORDS } from './words.ts';

const EXPLOIT = 'svc.ev0.threat.vulnerability_exploit';
const NAMES = oneOf(WORDS.eventNames);

const EMPTY: Refusal = {
  at: 'payload.protection',
  says: 'expected a non-empty string, found an empty string',
};
const NO_SUFFIX: Refusal = {
  at: 'event_name',
  says: 'expected the protection as the suffix of event_name, found a string',
};
const NOT_THE_SUFFIX: Refusal = {
  at: 'payload.protection',
  says: 'expected the suffix of event_name, found another string',
};

export const RECORD_DECISIONS: readonly Decision[] = [
  {
    title: 'D0 counts a free-form key whose value is undefined as absent',
    cases: [
      fits(
        'custom event',
        { 'payload.options': { a: undefined, b: { c: undefined } } },
        { 'payload.options': { b: {} } },
      ),
      fits(
        'login',
        { 'context.actor.identifiers': { a: undefined } },
        { 'context.actor.identifiers': {} },
      ),
    ],
  },
  {
    title: 'D0 requires the payload of its event_name, and reports no faults of others',
    cases: [
      {
        on: 'attack',
        set: { payload: {} },
        verdicts: byDialect(
          [{ at: 'payload.ruleset', says: `${oneOf(WORDS.rulesets)}, found nothing` }],
          [missing('payload.ruleset', 'a string')],
        ),
      },
      fails('login', { payload: {} }, missing('payload.success', 'true or false')),
    ],
  },
  {
    title: 'D1 takes any suffix that is the protection',
    cases: ['lfi', 'a.b', 'two words', 'Ünï', '.', ' '].map((suffix) =>
      fits('exploit', {
        event_name: `${EXPLOIT}.${suffix}`,
        'payload.protection': suffix,
      }),
    ),
  },
  {
    title: 'D1 refuses a suffix that is not the protection',
    cases: [
      ...['xss', 'LFI', 'lf', 'fi', 'lfi.', ' lfi'].map(
        (suffix): Change => ({
          ...fails('suffixed exploit', { event_name: `${EXPLOIT}.${suffix}` }, NOT_THE_SUFFIX),
          beyondJsonSchema: 'D1 suffix',
        }),
      ),
      fails(
        'suffixed exploit',
        { 'payload.protection': ABSENT },
        missing('payload.protection', 'a string'),
      ),
      fails('suffixed exploit', { 'payload.protection': '' }, EMPTY, NOT_THE_SUFFIX),
      fails(
        'suffixed exploit',
        { 'payload.protection': 5 },
        { at: 'payload.protection', says: 'expected a string, found a number' },
      ),
    ],
  },
  {
    title: 'D1 refuses an empty suffix',
    cases: [
      fails('exploit', { event_name: `${EXPLOIT}.` }, NO_SUFFIX),
      fails('exploit', { event_name: `${EXPLOIT}.`, 'payload.protection': '' }, NO_SUFFIX, EMPTY),
    ],
  },
  {
    title: 'D1 refuses a suffix without its dot, on other events, and the spelling threats',
    cases: [
      `${EXPLOIT}lfi`,
      'svc.ev0.threat.attack.lfi',
      'svc.ev0.threats.vulnerability_exploit',
      'svc.ev0.threats.vulnerability_exploit.lfi',
      'svc.ev0.threats.attack',
    ].map((name) =>
      fails(
        'suffixed exploit',
        { event_name: name },
        { at: 'event_name', says: `${NAMES}, found "${name}"` },
      ),
    ),
  },
  {
    title: 'D2 takes null for detected_at from an incident alone',
    cases: [
      fits('incident', { detected_at: null }),
      ...namesOf(RECORDS)
        .filter((name) => name !== 'incident')
        .map((name) =>
          fails(
            name,
            { detected_at: null },
            {
              at: 'detected_at',
              says: 'expected an ISO 8601 date-time with an offset, such as …+00:00, found null',
            },
          ),
        ),
    ],
  },
  {
    title: 'D16 refuses capitals and marks of every script in a slug',
    cases: ['É', 'é_Ж', 'e\u0301'].map((slug) => ({
      ...failsEmitted(
        'playbook trigger',
        { 'payload.playbook_slug': slug },
        {
          at: 'payload.playbook_slug',
          says: 'expected a slug (lowercase words joined by underscores or dots), found a string',
        },
      ),
      beyondJsonSchema: 'D16 letters',
    })),
  },
];
