/** The webhook message of format 2, an envelope around content (D20), and a request's body, an array of them (D31). */
import * as z from 'zod';
import { type Dialect, fields, type Mode, nonEmpty, type Reading, tolerated } from './dialect.ts';
import { byWord, type Choice, dispatch } from './dispatch.ts';
import { jsonObject } from './free-form.ts';
import { list } from './list.ts';
import { renamed, timestamp, without } from './primitives.ts';
import {
  API_VERSION,
  INCIDENT_MESSAGE_TYPES,
  MAX_MESSAGES_PER_REQUEST,
  MESSAGE_TYPES,
} from './vocabulary.ts';
import {
  accounts,
  accountsOfOtherIncidents,
  incident,
  responseFields,
  riskCoefficient,
  securityEvent,
  testFields,
} from './webhook-message.ts';

const INJECTION = 'injection_';
const [VULNERABLE_PACKAGES, HTTP_SCAN, USER_RISK_INCREASED, ACCOUNT_TAKEOVER] =
  INCIDENT_MESSAGE_TYPES;
const KNOWN_TYPES: readonly string[] = [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES];
const INJECTION_PATTERN = `^${INJECTION}\\S+$`;
const IS_INJECTION = new RegExp(INJECTION_PATTERN);

/** The schemas of a message type and of its messages. */
export interface Kind<T extends z.ZodType, M extends z.ZodType> {
  readonly type: T;
  readonly message: M;
}

/** Every message type with the schema of its message. */
export const messageKinds = <R extends Reading>(mode: Mode<Dialect, R>) => {
  const plainIncident = incident(mode, accountsOfOtherIncidents(mode));
  return {
    event: {
      type: z.literal('security_event'),
      message: securityEvent(mode, {}, riskCoefficient(mode)),
    },
    response: { type: z.literal('security_response'), message: fields(mode, responseFields(mode)) },
    test: {
      type: z.literal('test'),
      message: fields(mode, { ...testFields(mode), ...riskCoefficient(mode) }),
    },
    packages: { type: z.literal(VULNERABLE_PACKAGES), message: plainIncident },
    scan: { type: z.literal(HTTP_SCAN), message: plainIncident },
    risk: { type: z.literal(USER_RISK_INCREASED), message: plainIncident },
    takeover: { type: z.literal(ACCOUNT_TAKEOVER), message: incident(mode, accounts(mode)) },
    injection: {
      type: z.templateLiteral([INJECTION, z.string().regex(/^\S+$/)]),
      message: plainIncident,
    },
    // An unknown type. Its message is any object when received, and an incident when emitted (open only; D25).
    unknown: {
      type: nonEmpty().meta({
        not: { anyOf: [{ enum: [...KNOWN_TYPES] }, { pattern: INJECTION_PATTERN }] },
      }),
      message: tolerated(mode, plainIncident, jsonObject()),
    },
  };
};

const acceptsUnknownTypes = (mode: Mode): boolean =>
  mode.reading === 'received' || mode.dialect === 'open';

/** The branches have the order of {@link messageKinds}. */
export const chooseByMessageType = (mode: Mode): ((input: unknown) => Choice) =>
  byWord('message_type', [...KNOWN_TYPES, `${INJECTION}…`], (type) => {
    if (IS_INJECTION.test(type)) return KNOWN_TYPES.length;
    return type !== '' && acceptsUnknownTypes(mode) ? KNOWN_TYPES.length + 1 : undefined;
  });

type Branches<D extends Dialect, R extends Reading, K extends readonly unknown[], U> = [
  D,
  R,
] extends ['strict', 'emitted']
  ? K
  : readonly [...K, U];

/** The branches of one mode: strict and emitted has no unknown types (D25). */
export const branches = <
  D extends Dialect,
  R extends Reading,
  const K extends readonly z.ZodType[],
  U extends z.ZodType,
>(
  mode: Mode<D, R>,
  known: K,
  unknown: U,
): Branches<D, R, K, U> & readonly z.ZodType[] =>
  (acceptsUnknownTypes(mode) ? [...known, unknown] : known) as never;

const envelope = <R extends Reading, T extends z.ZodType, M extends z.ZodType>(
  mode: Mode<Dialect, R>,
  kind: Kind<T, M>,
) => fields(mode, { message_id: messageId(mode), ...envelopeFields(kind) });

const messageId = <R extends Reading>(mode: Mode<Dialect, R>) =>
  tolerated(mode, nonEmpty(), nonEmpty().nullable());

/** In the order in which the fields are written (D20). */
const envelopeFields = <T extends z.ZodType, M extends z.ZodType>({
  type,
  message,
}: Kind<T, M>) => ({
  api_version: z.literal(API_VERSION),
  date_created: timestamp(),
  message_type: type,
  retry_count: z.int().min(0),
  message,
});

/** Accepts `id` instead of `message_id` (D21). */
const identified = <R extends Reading, T extends z.ZodType, M extends z.ZodType>(
  mode: Mode<Dialect, R>,
  kind: Kind<T, M>,
) =>
  renamed(
    envelope(mode, kind),
    fields(mode, { ...without(['message_id']), id: messageId(mode), ...envelopeFields(kind) }),
    { from: 'id', to: 'message_id' },
  );

/** Real senders use `id` for all types: accepted when received (D21). */
const tolerantEnvelope = <R extends Reading, T extends z.ZodType, M extends z.ZodType>(
  mode: Mode<Dialect, R>,
  kind: Kind<T, M>,
) => tolerated(mode, envelope(mode, kind), identified(mode, kind));

export const webhookMessageV2 = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) => {
  const kinds = messageKinds(mode);
  const known = [
    tolerantEnvelope(mode, kinds.event),
    identified(mode, kinds.response),
    tolerantEnvelope(mode, kinds.test),
    tolerantEnvelope(mode, kinds.packages),
    tolerantEnvelope(mode, kinds.scan),
    tolerantEnvelope(mode, kinds.risk),
    tolerantEnvelope(mode, kinds.takeover),
    tolerantEnvelope(mode, kinds.injection),
  ] as const;
  return dispatch(
    chooseByMessageType(mode),
    branches(mode, known, tolerantEnvelope(mode, kinds.unknown)),
  );
};

export type MessageV2Schema<D extends Dialect, R extends Reading> = ReturnType<
  typeof webhookMessageV2<D, R>
>;

/** A body is an array of 1 to 1000 messages (D31). */
export const body = <M extends z.ZodType>(message: M): z.ZodArray<M> =>
  list(message).min(1).max(MAX_MESSAGES_PER_REQUEST);
