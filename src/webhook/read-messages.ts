/** A batch as the caller gave it, read message by message: all of it, or an error and nothing. */
import {
  type Contract,
  type Dialect,
  messageToSend,
  type WebhookMessageToSend,
} from '../contract/index.ts';
import { serializeMessageToSend } from '../contract/serialize.ts';
import { kindOf } from '../contract/wording.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import type { Format } from '../queue/queue.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';

/** What the senders take in each format. */
export type MessageToSend<D extends Dialect = 'strict', F extends Format = 2> = F extends 2
  ? WebhookMessageToSend<D>
  : Contract<D>['WebhookMessageV1']['_zod']['input'];

/** What is used of a schema: zod's own types would tie every format to one shape. */
export interface MessageSchema<D extends object = object> {
  safeParse(input: unknown): Parsed<D>;
}

type Parsed<D> =
  | { readonly success: true; readonly data: D }
  | { readonly success: false; readonly error: { readonly issues: readonly InputIssue[] } };

export interface Reading<D extends object> {
  readonly schema: MessageSchema<D>;
  /** Called for each message in turn, as long as none was refused. Awaited if it returns a promise. */
  readonly store: (data: D, index: number) => Promise<void> | undefined;
  /** Asked between two messages, so that a large batch does not hold the event loop. */
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** An error names this many faults at most: a wrong batch may hold hundreds of thousands. */
const MAX_ISSUES = 100;

/**
 * Each message is read and stored in one piece; the array itself is copied: a host may empty it.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`, with the faults of all messages, or what `store`
 * throws; `path` begins with the index of the message.
 */
export async function readMessages<D extends object>(
  messages: unknown,
  { schema, store, yieldToEventLoop }: Reading<D>,
): Promise<void> {
  if (!Array.isArray(messages)) {
    const message = `expected an array of messages, found ${kindOf(messages)}`;
    throw invalidMessage([{ path: [], message }]);
  }
  const issues: InputIssue[] = [];
  const given: readonly unknown[] = messages.slice();
  for (let index = 0; index < given.length; index += 1) {
    const parsed = parse(schema, given[index], index);
    if (!parsed.success) {
      const untold = parsed.error.issues.slice(0, MAX_ISSUES - issues.length);
      issues.push(...untold.map((issue) => within(index, issue)));
    } else if (issues.length === 0) {
      // Most are stored at once; awaiting those would cost a turn of the microtask queue each.
      const storing = store(parsed.data, index);
      if (storing !== undefined) await storing;
    }
    if (issues.length === MAX_ISSUES) break;
    const way = yieldToEventLoop();
    if (way !== undefined) await way;
  }
  if (issues.length > 0) throw invalidMessage(issues);
}

function parse<D extends object>(
  schema: MessageSchema<D>,
  given: unknown,
  index: number,
): Parsed<D> {
  try {
    return schema.safeParse(given);
  } catch (cause) {
    // A getter or a proxy within the message.
    throw new SecurityEventError('ERR_INVALID_MESSAGE', {
      detail: `${index}: reading the message threw`,
      path: [index],
      cause,
    });
  }
}

function within(index: number, { path, message }: InputIssue): InputIssue {
  return { path: [index, ...path], message };
}

function invalidMessage(issues: readonly InputIssue[]): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}

/** Plain data and nobody else's: what was checked is what is stored. */
export interface ReadDraft {
  /** Of the caller's own, where there is one (D21). */
  readonly messageId: string | undefined;
  readonly messageType: string;
  /** The message as JSON. */
  readonly message: string;
  /** Whose it is (D31). */
  readonly application: string | undefined;
  /** The name of a response's playbook. */
  readonly playbook: string | undefined;
  /** What the caller says of the v1 form of an incident (D43), as JSON. */
  readonly v1: string | undefined;
}

type Quick = (given: unknown) => ReadDraft | undefined;

/** Throws what a getter or proxy within a message throws. */
export function quickReader(dialect: Dialect): Quick {
  return (given) => {
    const draft = new BlankDraft();
    if (serializeMessageToSend(given, dialect, draft) === undefined) return undefined;
    // What a polluted prototype has is nobody's id, and nobody's hint.
    const { messageId, v1 } = draft;
    if (messageId !== undefined && !Object.hasOwn(given as object, 'message_id')) return undefined;
    if (v1 !== undefined && !Object.hasOwn(given as object, 'v1')) return undefined;
    return draft;
  };
}

/** To be filled in. A class, for the reason of queue/message-classes.ts: it holds all of a message's text. */
export class BlankDraft implements ReadDraft {
  messageId: string | undefined = undefined;
  messageType = '';
  message = '';
  application: string | undefined = undefined;
  playbook: string | undefined = undefined;
  v1: string | undefined = undefined;
}

/**
 * What a message is whose schema has changed it, or of which the quick way knows nothing. zod copies
 * what `given` inherits as if it had it itself: what every object inherits is nobody's id or hint.
 */
export function plainDraft(data: object, given: unknown): ReadDraft {
  const theirs = <K extends 'message_id' | 'v1'>(key: K): Draft[K] | undefined =>
    Object.hasOwn(given as object, key) || !(key in Object.prototype)
      ? own(data as Draft, key)
      : undefined;
  const { message_type, message } = data as Draft;
  const draft = new BlankDraft();
  draft.messageId = theirs('message_id');
  draft.messageType = message_type;
  draft.message = JSON.stringify(message);
  draft.application = applicationOf(message);
  draft.playbook = own(message as OfPlaybook, 'playbook')?.name;
  draft.v1 = JSON.stringify(theirs('v1'));
  return draft;
}

interface Draft {
  readonly message_id?: string;
  readonly message_type: string;
  readonly message: object;
  readonly v1?: object;
}

interface OfPlaybook {
  readonly playbook?: { readonly name: string };
}

const own = <T extends object, K extends keyof T>(of: T, key: K): T[K] | undefined =>
  Object.hasOwn(of, key) ? of[key] : undefined;

const reader = (dialect: Dialect): MessageSchema<ReadDraft> => {
  const schema = messageToSend(dialect);
  const quick = quickReader(dialect);
  return {
    safeParse: (given) => {
      const data = quick(given);
      if (data !== undefined) return { success: true, data };
      const parsed = schema.safeParse(given);
      return parsed.success ? { success: true, data: plainDraft(parsed.data, given) } : parsed;
    },
  };
};

const READERS: { readonly [D in Dialect]: MessageSchema<ReadDraft> } = {
  strict: reader('strict'),
  open: reader('open'),
};

/** Built when it is first used, like the schema behind it. */
export const draftReader = (dialect: Dialect): MessageSchema<ReadDraft> => READERS[dialect];

/**
 * Returns the application that a message or a v1 element is about: `application_id`, or the `id` within
 * `application`.
 */
export function applicationOf(content: object): string | undefined {
  const named: Named = content;
  // An inherited one, of a polluted prototype, would mix the messages of all applications.
  if (Object.hasOwn(named, 'application_id')) return named.application_id;
  return Object.hasOwn(named, 'application') ? named.application?.id : undefined;
}

/** The parts of the contract's messages that say whose they are; every schema has one of them. */
interface Named {
  readonly application_id?: string;
  readonly application?: { readonly id: string };
}
