/** The messages that senders accept: without the envelope, which the library adds. */
import type * as z from 'zod';
import { type Dialect, fields, type Mode, nonEmpty } from './dialect.ts';
import { dispatch } from './dispatch.ts';
import { lazySchema } from './lazy-schema.ts';
import { pulseDetails } from './webhook-v1.ts';
import { branches, chooseByMessageType, type Kind, messageKinds } from './webhook-v2.ts';

type EmittedMode<D extends Dialect = Dialect> = Mode<D, 'emitted'>;

const withoutEnvelope = <T extends z.ZodType<string, string>, M extends z.ZodType>(
  mode: EmittedMode,
  { type, message }: Kind<T, M>,
) => fields(mode, { message_id: nonEmpty().optional(), message_type: type, message });

/** The caller's fields for the v1 form of an incident; the others are derived (D43). */
const pulseHints = <D extends Dialect>(mode: EmittedMode<D>) =>
  fields(mode, pulseDetails(mode)).partial();

const incidentToSend = <
  D extends Dialect,
  T extends z.ZodType<string, string>,
  M extends z.ZodType,
>(
  mode: EmittedMode<D>,
  kind: Kind<T, M>,
) => withoutEnvelope(mode, kind).extend({ v1: pulseHints(mode).optional() });

const build = <D extends Dialect>(dialect: D) => {
  const mode: EmittedMode<D> = { dialect, reading: 'emitted' };
  const kinds = messageKinds(mode);
  const known = [
    withoutEnvelope(mode, kinds.event),
    withoutEnvelope(mode, kinds.response),
    withoutEnvelope(mode, kinds.test),
    incidentToSend(mode, kinds.packages),
    incidentToSend(mode, kinds.scan),
    incidentToSend(mode, kinds.risk),
    incidentToSend(mode, kinds.takeover),
    incidentToSend(mode, kinds.injection),
  ] as const;
  return dispatch(
    chooseByMessageType(mode),
    branches(mode, known, incidentToSend(mode, kinds.unknown)),
  );
};

type BuiltSchema<D extends Dialect> = z.ZodLazy<ReturnType<typeof build<D>>>;

/** An interface, so that consumers' declarations name it instead of zod's types. */
export interface MessageToSendSchema<D extends Dialect> extends BuiltSchema<D> {}

const MESSAGE_TO_SEND: { readonly [D in Dialect]: MessageToSendSchema<D> } = {
  strict: lazySchema(() => build('strict')),
  open: lazySchema(() => build('open')),
};

/** Returns the schema of `{ message_type, message, message_id?, v1? }`. */
export const messageToSend = <D extends Dialect>(dialect: D): MessageToSendSchema<D> =>
  MESSAGE_TO_SEND[dialect];

/**
 * Allows any list for an array or a tuple: TypeScript infers `number[]` for `[4.84, 45.76]`, which is not a tuple,
 * and `as const` makes lists readonly. The number of elements is validated when sending.
 */
type ListsOf<T> = T extends readonly (infer Element)[]
  ? readonly ListsOf<Element>[]
  : T extends Readonly<Record<string, unknown>>
    ? { readonly [Key in keyof T]: ListsOf<T[Key]> }
    : T;

type MessageInput<D extends Dialect> = ListsOf<z.input<MessageToSendSchema<D>>>;
type StrictInput<T extends string> = Extract<MessageInput<'strict'>, { readonly message_type: T }>;
type Content<T extends string> = StrictInput<T>['message'];

// Interfaces, so that the compiler shows their names when a message does not fit, not all their fields.
export interface SecurityEventContent
  extends Extract<Content<'security_event'>, { readonly date_occurred: string }> {}
/** `date_occured`, as the contract's samples spell it, is accepted too (D27). */
export interface MisspelledSecurityEventContent
  extends Extract<Content<'security_event'>, { readonly date_occured: string }> {}
export interface SecurityResponseContent extends Content<'security_response'> {}
export interface TestContent extends Content<'test'> {}
export interface IncidentContent extends Content<'http_scan'> {}
export interface AccountTakeoverContent extends Content<'account_takeover'> {}
export interface PulseHints extends NonNullable<StrictInput<'http_scan'>['v1']> {}

interface ToSend<Type, Message> {
  readonly message_type: Type;
  readonly message: Message;
  readonly message_id?: string | undefined;
}

export interface SecurityEventToSend
  extends ToSend<'security_event', SecurityEventContent | MisspelledSecurityEventContent> {}
export interface SecurityResponseToSend
  extends ToSend<'security_response', SecurityResponseContent> {}
export interface TestToSend extends ToSend<'test', TestContent> {}
export interface IncidentToSend<Type, Message = IncidentContent> extends ToSend<Type, Message> {
  readonly v1?: PulseHints | undefined;
}

type StrictMessageToSend =
  | SecurityEventToSend
  | SecurityResponseToSend
  | TestToSend
  | IncidentToSend<'vulnerable_packages'>
  | IncidentToSend<'http_scan'>
  | IncidentToSend<'user_risk_increased'>
  | IncidentToSend<'account_takeover', AccountTakeoverContent>
  | IncidentToSend<`injection_${string}`>;

/** A message that senders accept in format 2. */
export type WebhookMessageToSend<D extends Dialect = 'strict'> = D extends 'strict'
  ? StrictMessageToSend
  : MessageInput<D>;
