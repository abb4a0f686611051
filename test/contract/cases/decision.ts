/** A decision as a sentence, with the cases that hold it. */
import type { SampleName } from '../samples.ts';
import {
  ABSENT,
  byReading,
  type Change,
  everywhere,
  type FieldRow,
  MODES,
  type Refusal,
  type Verdicts,
} from './case.ts';
import { LOG_RECORD_FIELDS } from './log-record-fields.ts';
import { WEBHOOK_FIELDS } from './webhook-fields.ts';

export interface Decision {
  readonly title: string;
  readonly cases: readonly Change[];
}

type Changes = Change['set'];

export const fits = (on: SampleName, set: Changes, becomes: Changes = {}): Change => ({
  on,
  set,
  becomes,
  verdicts: everywhere(true),
});

export const fails = (on: SampleName, set: Changes, ...refusals: Refusal[]): Change => ({
  on,
  set,
  verdicts: everywhere(refusals),
});

/** An N, a W or an unknown key. */
export const failsEmitted = (on: SampleName, set: Changes, ...refusals: Refusal[]): Change => ({
  on,
  set,
  verdicts: byReading(refusals, true),
});

export const missing = (at: string, what: string): Refusal => ({
  at,
  says: `expected ${what}, found nothing`,
});

const FIELDS: readonly FieldRow[] = [...LOG_RECORD_FIELDS, ...WEBHOOK_FIELDS];

/** Sets an object to some of its fields: the others are refused as the table of fields says. */
export function halfFilled(on: SampleName, path: string, given: object): Change {
  const rows = FIELDS.filter((row) => row.on.includes(on));
  const others = rows.flatMap(({ field, given: values }) => {
    const [start, name = ''] = typeof field === 'string' ? field.split(`${path}.`) : [];
    const absent = values.find(({ value }) => value === ABSENT);
    const isOther = start === '' && !name.includes('.') && !Object.hasOwn(given, name);
    return absent === undefined || !isOther ? [] : [{ at: field, ...absent }];
  });
  const refusalsIn = (mode: keyof Verdicts): Refusal[] =>
    others.flatMap(({ at, verdicts: { [mode]: says } }) =>
      typeof says === 'string' ? [{ at, says }] : [],
    );
  return {
    on,
    set: { [path]: given },
    verdicts: Object.fromEntries(
      MODES.map(({ name }) => [name, refusalsIn(name)]),
    ) as unknown as Verdicts,
  };
}
