/** D15-D18: the payloads of records, and lines. */
import { LINE, RECORDS } from '../samples.ts';
import { ABSENT } from './case.ts';
import { type Decision, fails, failsEmitted, fits, missing } from './decision.ts';

const NOISE = ['level', 'time', 'pid', 'hostname', 'msg', 'trace_ID', 'usr'];

export const PAYLOAD_DECISIONS: readonly Decision[] = [
  {
    title: 'D15 takes the name from sdk_event_name where event_name is absent',
    cases: [
      fits(
        'custom event',
        { 'payload.event_name': ABSENT, 'payload.sdk_event_name': 'other' },
        { 'payload.event_name': 'other' },
      ),
      fits('custom event', { 'payload.event_name': 'a', 'payload.sdk_event_name': 'b' }),
      fits('custom event', { 'payload.event_name': 'a', 'payload.sdk_event_name': '' }),
      fits('custom event', { 'payload.sdk_event_name': ABSENT }),
      {
        ...failsEmitted(
          'custom event',
          { 'payload.event_name': ABSENT, 'payload.more': 1 },
          { at: 'payload', says: 'unknown key "more"' },
        ),
        becomes: { 'payload.event_name': 'checkout' },
      },
    ],
  },
  {
    title: 'D15 refuses a custom event without name or options',
    cases: [
      fails(
        'custom event',
        { payload: { options: {} } },
        missing('payload.event_name', 'a string'),
      ),
      fails(
        'custom event',
        { payload: { sdk_event_name: 'x' } },
        missing('payload.options', 'an object'),
      ),
      fails(
        'custom event',
        { 'payload.event_name': ABSENT, 'payload.sdk_event_name': '' },
        {
          at: 'payload.sdk_event_name',
          says: 'expected a non-empty string, found an empty string',
        },
      ),
      fails(
        'custom event',
        { 'payload.event_name': ABSENT, 'payload.sdk_event_name': 5 },
        { at: 'payload.sdk_event_name', says: 'expected a string, found a number' },
      ),
    ],
  },
  {
    title: 'D17 allows the attributes of a platform on a line, and not on a record',
    cases: Object.entries(LINE)
      .filter(([key]) => !(key in RECORDS.attack) && !key.includes('.'))
      .flatMap(([key, value]) => [
        failsEmitted('attack', { [key]: value }, { at: '', says: `unknown key "${key}"` }),
        fits('line', { [key]: value }),
      ]),
  },
  {
    title: 'D17 refuses what loggers add to a line when emitted',
    cases: NOISE.map((key) =>
      failsEmitted('line', { [key]: 1 }, { at: '', says: `unknown key "${key}"` }),
    ),
  },
];
