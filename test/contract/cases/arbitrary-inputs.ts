/** Inputs near the contract: a sample in which some fields have values from their tables. */
import fc from 'fast-check';
import { namesOf, SAMPLES, type SampleName } from '../samples.ts';
import { type FieldRow, type Given, setAt } from './case.ts';
import { LOG_RECORD_FIELDS } from './log-record-fields.ts';
import { WEBHOOK_FIELDS } from './webhook-fields.ts';

export interface Input {
  readonly on: SampleName;
  readonly input: unknown;
}

interface Edit {
  readonly field: FieldRow['field'];
  readonly value: unknown;
}

const accepted = ({ verdicts }: Given): boolean => Object.values(verdicts).includes(true);

const editsOf = (name: SampleName): readonly Edit[] =>
  [...LOG_RECORD_FIELDS, ...WEBHOOK_FIELDS]
    .filter(({ on }) => on.includes(name))
    .flatMap(({ field, given }) => given.filter(accepted).map(({ value }) => ({ field, value })));

/** An edit below what another one took away has nowhere to go. */
function edited(name: SampleName, edits: readonly Edit[]): unknown {
  return edits.reduce<unknown>((value, edit) => {
    try {
      return setAt(value, edit.field, edit.value);
    } catch {
      return value;
    }
  }, SAMPLES[name]);
}

const inputOf = (on: SampleName): fc.Arbitrary<Input> =>
  fc
    .array(fc.constantFrom(...editsOf(on)), { maxLength: 4 })
    .map((edits) => ({ on, input: edited(on, edits) }));

/** Each edit alone is accepted in at least one reading, so that most inputs are in some. */
export const inputs: fc.Arbitrary<Input> = fc.oneof(...namesOf(SAMPLES).map(inputOf));
