/**
 * The fields of a `security_event` as JSON, each by itself, for whoever tells many that differ in few of
 * them. Derived from the schema of what the senders take, of which json-text.ts reads each field;
 * test/contract/security-event-texts.test.ts holds what is put together against what it makes of the whole.
 */
import type * as z from 'zod';
import { messageToSend } from './message-to-send.ts';
import type { TextOf } from './scalar-text.ts';
import { sharedTextOf } from './shared-text.ts';

/** In the order in which they are written. */
const EVENT_KEYS = [
  'application_id',
  'application_name',
  'environment',
  'date_occurred',
  'event_category',
  'event_id',
  'event_kind',
  'event_url',
  'humanized_description',
] as const;

/** The list that comes last: it is told address by address. */
const LIST_KEY = 'ips';

const IP_KEYS = ['address', 'date_resolved', 'geo', 'is_tor'] as const;

type TextsOf<K extends string> = Readonly<Record<K, TextOf>>;

/** Each gives a text, or nothing where the whole has to be judged. */
export interface SecurityEventTexts {
  readonly event: TextsOf<(typeof EVENT_KEYS)[number]>;
  /** Of one of its addresses. */
  readonly ip: TextsOf<(typeof IP_KEYS)[number]>;
}

/** What is read of zod's definitions: of the schema that is built when used, its unions and their options. */
interface Def {
  readonly getter?: () => z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly choose?: (input: unknown) => unknown;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly checks?: readonly unknown[];
}

const defOf = (schema: z.core.$ZodType | undefined): Def => schema?._zod.def ?? {};

/** The option of a union that `input` would be read with. */
function chosen({ options = [], choose }: Def, input: object): Def {
  const choice = choose?.(input);
  return typeof choice === 'number' ? defOf(options[choice]) : {};
}

/** Nothing where the schema is of other keys, or checks more than each of them. */
function textsOf<const K extends string>(
  { shape, checks = [] }: Def,
  keys: readonly K[],
  lists: readonly string[] = [],
): TextsOf<K> | undefined {
  if (shape === undefined || checks.length > 0) return undefined;
  if (Object.keys(shape).join() !== [...keys, ...lists].join()) return undefined;
  const texts = keys.map((key) => [key, sharedTextOf(shape[key] as z.core.$ZodType)]);
  return Object.fromEntries(texts) as TextsOf<K>;
}

/**
 * Both dialects take what is made of them: it is read of the one that a reporter's own sender has, whose
 * schema is built anyway. Nothing where the schema has parts that are not told apart here. Not to be asked
 * while a prototype is polluted.
 */
export function securityEventTexts(): SecurityEventTexts | undefined {
  const { getter }: Def = messageToSend('open')._zod.def;
  const draft = chosen(defOf(getter?.()), { message_type: 'security_event' });
  const message = chosen(defOf(draft.shape?.['message']), {});
  const { element, checks = [] } = defOf(message.shape?.[LIST_KEY]);
  const event = textsOf(message, EVENT_KEYS, [LIST_KEY]);
  const ip = textsOf(defOf(element), IP_KEYS);
  return event && ip && checks.length === 0 ? { event, ip } : undefined;
}
