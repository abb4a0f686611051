/** Holds a case against the schemas, and says where they differ from its verdict. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { contract, messageToSend } from '../../../src/contract/index.ts';
import { escapeLine } from '../../../src/contract/json-fragments.ts';
import { withOwnKeys } from '../../../src/contract/own-keys.ts';
import {
  type CapturedFields,
  messageSerializer,
  serializeLogRecord,
} from '../../../src/contract/serialize.ts';
import { DRAFTS, ELEMENTS, LINE, MESSAGES, SAMPLES, type SampleName } from '../samples.ts';
import { type Case, keysOf, MODES, type Mode, optionsOf, refusals } from './case.ts';

/** The schemas that judge a sample in one reading. What is to be sent has no received form. */
export function schemasFor(name: SampleName, mode: Mode): readonly z.ZodType[] {
  const schemas = contract(optionsOf(mode));
  if (name in DRAFTS) return mode.reading === 'emitted' ? [messageToSend(mode.dialect)] : [];
  if (name in MESSAGES) return [schemas.WebhookMessageV2];
  if (name in ELEMENTS) return [schemas.WebhookMessageV1];
  return [SAMPLES[name] === LINE ? schemas.LogLine : schemas.LogRecord];
}

type Serialize = (value: unknown) => string | undefined;

const nothingCaptured = (): CapturedFields => ({
  messageId: undefined,
  messageType: '',
  message: '',
  application: undefined,
  playbook: undefined,
  v1: undefined,
});

/** The schemas that have a generated serialiser. */
const SERIALIZERS: ReadonlyMap<z.ZodType, Serialize> = new Map(
  (['strict', 'open'] as const).flatMap((dialect): [z.ZodType, Serialize][] => [
    [contract({ dialect }).LogRecord, (value) => serializeLogRecord(value, dialect)],
    [
      messageToSend(dialect),
      (value) => messageSerializer(dialect)(withOwnKeys(value), nothingCaptured()),
    ],
  ]),
);

export const serializerFor = (schema: z.ZodType): Serialize | undefined => SERIALIZERS.get(schema);

/** What a serialiser makes of a parsed value: a log line has D84's escapes. */
export const serialized = (schema: z.ZodType, data: unknown): string => {
  const text = JSON.stringify(data);
  return schema === contract().LogRecord || schema === contract({ dialect: 'open' }).LogRecord
    ? escapeLine(text)
    : text;
};

/** Compared as JSON text first, since most are equal. */
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

/** A serialiser returns the very text of what was parsed, or undefined. */
function checkSerializer(
  schema: z.ZodType,
  input: unknown,
  result: z.ZodSafeParseResult<unknown>,
): void {
  const text = serializerFor(schema)?.(input);
  if (text === undefined) return;
  const due = result.success ? serialized(schema, result.data) : undefined;
  if (text !== due) throw new Error(`the serialiser made ${text} of it`);
}

function judge(schema: z.ZodType, input: unknown): Judged {
  const result = schema.safeParse(input);
  checkSerializer(schema, input, result);
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
