/**
 * Checks and routes the messages of a call, and serialises them in the format of their application, once. Later changes
 * by the caller have no effect.
 */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { check, type Rules, TEXT } from '../option-rules.ts';
import { downgrade } from '../projection/downgrade.ts';
import { isPromiseLike } from '../runtime/host-calls.ts';
import { type YieldToEventLoop, yieldAlsoWhenBehind } from '../runtime/yield-to-event-loop.ts';
import { route } from '../settings/routing.ts';
import type { ResolvedApplication, SettingsReader } from '../settings/source.ts';
import { AcceptedEntry, acceptedEntry, type Place } from '../webhook/accept.ts';
import {
  type BytesOf,
  formatTimestamp,
  sharedBytes,
  toStored,
  toStoredV1,
} from '../webhook/encoder.ts';
import { messageReader, readMessages, type ValidatedMessage } from '../webhook/read-messages.ts';
import type { SendSelection, SkippedMessage } from './sender.ts';

export interface IntakeRules {
  readonly dialect: Dialect;
  readonly maxBodyBytes: number;
  /** Whether v1 elements also have `id`, `url` and `risk`, which existing receivers read (D41). */
  readonly v1Aliases: boolean;
  readonly newId: () => string;
  /** Returns the settings of an application; `undefined` if it is unknown. */
  readonly find: SettingsReader['find'];
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Whether messages are accepted faster than they are delivered. */
  readonly isBehind: () => boolean;
}

export interface Intake {
  readonly entries: readonly AcceptedEntry[];
  readonly skipped: readonly SkippedMessage[];
}

/** The arguments of a call of `send`, and its time. */
export interface IntakeCall {
  readonly messages: unknown;
  readonly selection: unknown;
  /** Milliseconds since the epoch. */
  readonly acceptedAtMs: number;
}

const SEND_SELECTION_RULES: Rules<keyof SendSelection> = { module: TEXT, playbook: TEXT };

/**
 * Reads all messages, or throws and takes none.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`, `ERR_MESSAGE_TOO_LARGE` or
 * `ERR_UNKNOWN_APPLICATION`, whose `path` begins with the message's index, `ERR_INVALID_OPTION` for
 * the selection, or what `find` rejects with.
 */
export async function readSendCall(
  { messages, selection: given, acceptedAtMs }: IntakeCall,
  rules: IntakeRules,
): Promise<Intake> {
  const subject = { name: 'the selection', path: ['selection'] };
  const selection = check<SendSelection>(given, SEND_SELECTION_RULES, subject);
  const known = new Map<string, ResolvedApplication>();
  const entries: AcceptedEntry[] = [];
  const skipped: SkippedMessage[] = [];
  const toBytes = sharedBytes(Array.isArray(messages) ? messages.length : 0);
  const context = { selection, acceptedAtMs, rules, toBytes };
  const add = (routed: Routed): void => {
    const result = project(routed, context);
    if (result instanceof AcceptedEntry) entries.push(result);
    else skipped.push(result);
  };
  const store = (validated: ValidatedMessage, index: number): Promise<void> | undefined => {
    // The id is fixed here, before the first attempt, and never changes (D21).
    const { messageId = rules.newId(), application: applicationId = '' } = validated;
    const application = known.get(applicationId);
    if (application !== undefined) {
      add({ index, applicationId, application, messageId, validated });
      return undefined;
    }
    const addFound = (found: ResolvedApplication | undefined): void => {
      if (found === undefined) throw unknownApplication(index, validated);
      known.set(applicationId, found);
      add({ index, applicationId, application: found, messageId, validated });
    };
    const found = rules.find(applicationId);
    if (isPromiseLike(found)) return found.then(addFound);
    addFound(found);
    return undefined;
  };
  const schema = messageReader(rules.dialect);
  await readMessages(messages, {
    schema,
    store,
    yieldToEventLoop: yieldAlsoWhenBehind(rules.yieldToEventLoop, rules.isBehind),
  });
  return { entries, skipped };
}

interface Routed extends Place {
  readonly application: ResolvedApplication;
  readonly messageId: string;
  readonly validated: ValidatedMessage;
}

interface ProjectionContext {
  readonly selection: SendSelection;
  readonly acceptedAtMs: number;
  readonly rules: IntakeRules;
  readonly toBytes: BytesOf;
}

function project(
  routed: Routed,
  { selection, acceptedAtMs, rules, toBytes }: ProjectionContext,
): AcceptedEntry | SkippedMessage {
  const { index, applicationId, application, messageId, validated } = routed;
  // The playbook of the call, or else the one that a response names (D60).
  const { module, playbook = validated.playbook } = selection;
  const decision = route(application, { module, playbook });
  if (decision.kind === 'skip') return { index, applicationId, reason: decision.reason };
  const { messageType, message } = validated;
  if (application.format !== 1) {
    const text = { message_id: messageId, message_type: messageType, message };
    return acceptedEntry(routed, toStored(text, toBytes), rules.maxBodyBytes);
  }
  // Settings of format 1 have both.
  const { name = '', environment = '' } = application;
  const given = { message_id: messageId, message_type: messageType, ...parsed(validated) };
  const { dialect, v1Aliases } = rules;
  const acceptedAt = formatTimestamp(acceptedAtMs);
  const context = { application: { name, environment }, acceptedAt, dialect, v1Aliases };
  const v1 = downgrade(given, context);
  if (typeof v1 === 'string') return { index, applicationId, reason: v1 };
  return acceptedEntry(routed, toStoredV1(messageId, v1), rules.maxBodyBytes);
}

/** Parses the message again for the few receivers that read format 1. */
function parsed({ message, v1 }: ValidatedMessage): {
  readonly message: object;
  readonly v1: object | undefined;
} {
  const hints = v1 === undefined ? undefined : (JSON.parse(v1) as object);
  return { message: JSON.parse(message) as object, v1: hints };
}

function unknownApplication(index: number, { messageType }: ValidatedMessage): SecurityEventError {
  const field = messageType === 'security_response' ? ['application', 'id'] : ['application_id'];
  return new SecurityEventError('ERR_UNKNOWN_APPLICATION', {
    detail: `message ${index} names an application that the settings do not have`,
    path: [index, 'message', ...field],
  });
}
