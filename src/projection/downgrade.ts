/**
 * Converts messages of format 2 to elements of the deprecated format 1 (D40 to D45). A valid message
 * becomes a valid element.
 */
import {
  type Content,
  type ElementV1,
  type Incident,
  type PulseContext,
  pulse,
  pulseGenre,
  pulseHints,
} from './pulse.ts';

/** A validated message with its id. */
export interface MessageToDowngrade {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
  /** The caller's fields of the pulse; for incidents only. */
  readonly v1?: object | undefined;
}

export interface DowngradeContext extends PulseContext {
  /** When the message was accepted, in channel B's format. */
  readonly acceptedAt: string;
  /** Whether to add `id` and `url`, and `risk` to unrated events: real v1 receivers read them (D41). */
  readonly v1Aliases: boolean;
}

/** Why a message has no v1 form; returned to the caller and counted. */
export type DowngradeSkip =
  /** v1 has no updates of incidents */
  | 'v1-incident-update'
  /** the incident's type is not one of the 18 genres, and the caller named none */
  | 'no-v1-genre';

/**
 * Returns the v1 form of a message, or why it has none. All types except the three fixed ones are
 * incidents.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE` if `v1` makes the pulse invalid; its `path` is
 * `['v1', field]`.
 */
export function downgrade(
  given: MessageToDowngrade,
  context: DowngradeContext,
): ElementV1 | DowngradeSkip {
  switch (given.message_type) {
    case 'security_event':
      return securityEvent(given.message as Content<'security_event'>, context);
    case 'test':
      return testEvent(given.message as Content<'test'>, context);
    case 'security_response':
      return securityResponse(given, context);
    default:
      return incident(given, context);
  }
}

/**
 * Most messages have no rating, and receivers that read `risk` fail without one. The middle of 0 to 100:
 * at either end a receiver's threshold would drop or escalate everything.
 */
const UNRATED_RISK = 50;

function riskOf(coefficient: number | undefined, v1Aliases: boolean): { readonly risk?: number } {
  if (coefficient !== undefined) return { risk: coefficient };
  return v1Aliases ? { risk: UNRATED_RISK } : {};
}

/** Puts the payload type before the message's fields. `risk_coefficient` becomes `risk`; aliases are added (D41). */
function securityEvent(
  { risk_coefficient, ...message }: Content<'security_event'>,
  { v1Aliases }: DowngradeContext,
): ElementV1 {
  const risk = riskOf(risk_coefficient, v1Aliases);
  const event = { svc_payload_type: 'security_event', ...message, ...risk } as const;
  return v1Aliases ? { ...event, id: message.event_id, url: message.event_url } : event;
}

/** A test has its own `id` and `url`, so the only alias is `risk`. */
function testEvent(
  { risk_coefficient, ...message }: Content<'test'>,
  { v1Aliases }: DowngradeContext,
): ElementV1 {
  return { svc_payload_type: 'test', ...message, ...riskOf(risk_coefficient, v1Aliases) };
}

/** Moves the fields of v2's envelope into the element. */
function securityResponse(given: MessageToDowngrade, context: DowngradeContext): ElementV1 {
  return {
    id: given.message_id,
    svc_payload_type: 'security_response',
    date_created: context.acceptedAt,
    ...(given.message as Content<'security_response'>),
  };
}

function incident(given: MessageToDowngrade, context: DowngradeContext): ElementV1 | DowngradeSkip {
  const message = given.message as Incident;
  if (message.incident_status === 'updated') return 'v1-incident-update';
  // A `v1` inherited from a polluted prototype would change every incident.
  const hints = pulseHints(Object.hasOwn(given, 'v1') ? given.v1 : undefined);
  const genre = pulseGenre(given.message_type, hints);
  if (genre === undefined) return 'no-v1-genre';
  return pulse({ incident: message, genre, hints }, context);
}
