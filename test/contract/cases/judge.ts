/** Holds a case against the schemas, and says where they differ from its verdict. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { contract, messageToSend } from '../../../src/contract/index.ts';
import { jsonTextOf } from '../../../src/contract/json-text.ts';
import { DRAFTS, ELEMENTS, LINE, MESSAGES, SAMPLES, type SampleName } from '../samples.ts';
import { type Case, keysOf, MODES, type Mode, refusals } from './case.ts';

/** The schemas that judge a sample in one reading. What is to be sent has no received form. */
export function schemasFor(name: SampleName, mode: Mode): readonly z.ZodType[] {
  const schemas = contract(mode);
  if (name in DRAFTS) return mode.reading === 'emitted' ? [messageToSend(mode.dialect)] : [];
  if (name in MESSAGES) return [schemas.WebhookMessageV2];
  if (name in ELEMENTS) return [schemas.WebhookMessageV1];
  return [SAMPLES[name] === LINE ? schemas.LogLine : schemas.LogRecord];
}

const fastPaths = new Map<z.ZodType, (value: unknown) => string | undefined>();

export function fastPathOf(schema: z.ZodType): (value: unknown) => string | undefined {
  const textOf = fastPaths.get(schema) ?? jsonTextOf(schema);
  fastPaths.set(schema, textOf);
  return textOf;
}

/** As JSON text: most are equal as they are, and need not be read to be compared. */
const asJson = (value: unknown): string | undefined => JSON.stringify(value);

const isSameJson = (one: string | undefined, other: string | undefined): boolean =>
  one === other ||
  (one !== undefined &&
    other !== undefined &&
    isDeepStrictEqual(JSON.parse(one), JSON.parse(other)));

const prettified = (issues: readonly { path: PropertyKey[]; message: string }[]): string =>
  issues
    .toSorted((a, b) => a.path.length - b.path.length)
    .map(({ path, message }) =>
      path.length === 0 ? `✖ ${message}` : `✖ ${message}\n  → at ${z.core.toDotPath(path)}`,
    )
    .join('\n');

interface Judged {
  readonly issues: readonly { path: PropertyKey[]; message: string }[];
  readonly pretty: string;
  /** As JSON text. */
  readonly output?: string | undefined;
}

/** The fast path gives the very text of what was parsed, or nothing. */
function checkFastPath(schema: z.ZodType, input: unknown, due: string | undefined): void {
  const text = fastPathOf(schema)(input);
  if (text !== undefined && text !== due) throw new Error(`the fast path made ${text} of it`);
}

function judge(schema: z.ZodType, input: unknown): Judged {
  const result = schema.safeParse(input);
  checkFastPath(schema, input, result.success ? asJson(result.data) : undefined);
  if (result.success) return { issues: [], pretty: '', output: asJson(result.data) };
  const issues = result.error.issues.map(({ path, message }) => ({ path, message }));
  return { issues, pretty: z.prettifyError(result.error) };
}

function expected({ verdicts, field, output }: Case, { name }: Mode): Judged {
  const verdict = verdicts[name];
  const issues = refusals(verdict, field).map(({ at, says }) => ({
    path: [...keysOf(at)],
    message: says,
  }));
  return issues.length === 0
    ? { issues, pretty: '', output: asJson(output) }
    : { issues, pretty: prettified(issues) };
}

const isAsDue = (actual: Judged, due: Judged): boolean =>
  actual.pretty === due.pretty &&
  isDeepStrictEqual(actual.issues, due.issues) &&
  isSameJson(actual.output, due.output);

/** Every reading in which a schema does not do what the case says; empty is right. */
export const differences = (given: Case): readonly object[] =>
  MODES.flatMap((mode) =>
    schemasFor(given.on, mode).flatMap((schema) => {
      const actual = judge(schema, given.input);
      const due = expected(given, mode);
      return isAsDue(actual, due) ? [] : [{ on: given.on, mode: mode.name, due, actual }];
    }),
  );
