/** A decision as a sentence, with the cases that hold it. */
import type { SampleName } from '../samples.ts';
import { byReading, type Change, everywhere, type Refusal } from './case.ts';

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
