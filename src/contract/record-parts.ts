/**
 * A record's JSON from its parts, for whoever tells many records of one context: that is checked and
 * serialised once. Derived from the schema of the whole, of which json-text.ts reads each part by itself;
 * test/contract/record-parts.test.ts holds what is joined against what it makes of the whole.
 */
import type * as z from 'zod';
import { contract } from './contract.ts';
import type { Dialect } from './dialect.ts';
import type { TextOf } from './scalar-text.ts';
import { sharedTextOf } from './shared-text.ts';
import { type EVENT_NAMES, EVENT_VERSION } from './vocabulary.ts';

export type EventName = (typeof EVENT_NAMES)[number];

/** Of the records of one name: each gives a text, or nothing where the whole has to be judged. */
export interface RecordParts {
  readonly context: TextOf;
  readonly detected_at: TextOf;
  readonly payload: TextOf;
  readonly join: (texts: PartTexts) => string;
}

/** What the parts have given. */
export type PartTexts = Readonly<Record<'context' | 'detected_at' | 'payload', string>>;

/** Those of a name; nothing where the schema has parts that are not told apart here. */
export type PartsOf = (name: EventName) => RecordParts | undefined;

/** In the order in which they are written. */
const KEYS = ['context', 'detected_at', 'event_name', 'event_version', 'payload'] as const;

type Shape = Readonly<Record<(typeof KEYS)[number], z.core.$ZodType>>;

/** What is read of zod's definitions: of the schema that is built when used, of its union, of an option. */
interface Def {
  readonly getter?: () => z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly choose?: (input: unknown) => unknown;
  readonly shape?: Shape;
  readonly checks?: readonly unknown[];
}

function partsIn({ options = [], choose }: Def, event_name: EventName): RecordParts | undefined {
  const choice = choose?.({ event_name });
  const option: Def | undefined =
    typeof choice === 'number' ? options[choice]?._zod.def : undefined;
  const { shape, checks = [] } = option ?? {};
  // A check is of the whole, and a further key would be missing.
  if (shape === undefined || checks.length > 0) return undefined;
  if (Object.keys(shape).join() !== KEYS.join()) return undefined;
  const named = `,"event_name":"${event_name}","event_version":"${EVENT_VERSION}","payload":`;
  return {
    context: sharedTextOf(shape.context),
    detected_at: sharedTextOf(shape.detected_at),
    payload: sharedTextOf(shape.payload),
    join: ({ context, detected_at, payload }) =>
      `{"context":${context},"detected_at":${detected_at}${named}${payload}}`,
  };
}

/** The parts of the records of a dialect. */
export function recordParts(dialect: Dialect): PartsOf {
  const { getter }: Def = contract({ dialect }).LogRecord._zod.def;
  const known = new Map<EventName, RecordParts | undefined>();
  let built: z.core.$ZodType | undefined;
  return (name) => {
    // It may be built anew: see `whenUsed`.
    const schema = getter?.();
    if (schema === undefined) return undefined;
    if (schema !== built) {
      built = schema;
      known.clear();
    }
    if (!known.has(name)) known.set(name, partsIn(schema._zod.def, name));
    return known.get(name);
  };
}
