/**
 * A message of format v2 as an element of the deprecated format v1 (D40-D45). Pure: what it makes of
 * a message that the contract takes, the contract's `WebhookMessageV1` takes.
 */
import type { Contract, Dialect, WebhookMessageV2 } from '../contract/index.ts';
import { type Incident, type PulseContext, pulse, pulseGenre, pulseHints } from './pulse.ts';

type MessageType = WebhookMessageV2['message_type'];
type Content<T extends MessageType> = Extract<WebhookMessageV2, { message_type: T }>['message'];

/** An element of a request of format v1. */
export type ElementV1 = Contract<Dialect>['WebhookMessageV1']['_zod']['output'];

/** What {@link downgrade} reads: what `messageToSend` gave, with its id fixed (D21). */
export interface MessageToDowngrade {
  readonly message_id: string;
  readonly message_type: string;
  readonly message: object;
  /** What the caller says of the pulse (D43); beside an incident only. */
  readonly v1?: object | undefined;
}

export interface DowngradeContext extends PulseContext {
  /** When the message was accepted, as channel B writes times (D23). */
  readonly acceptedAt: string;
  /** Whether the names that real v1 receivers read are written besides (D41). */
  readonly v1Aliases: boolean;
}

/** Why a message has no v1 form; returned to the caller and counted. */
export type DowngradeSkip =
  /** an incident's `updated` (D44) */
  | 'v1-incident-update'
  /** an incident whose type is none of the 18 genres, and the caller named none (D43) */
  | 'no-v1-genre';

export type Downgraded =
  | { readonly kind: 'element'; readonly element: ElementV1 }
  | { readonly kind: 'skipped'; readonly reason: DowngradeSkip };

/**
 * The v1 form of a message, or why it has none. Every type that is none of the three fixed ones is
 * an incident (D25).
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE` where `v1` makes a pulse that the contract
 * refuses; its `path` is `['v1', field]`.
 */
export function downgrade(given: MessageToDowngrade, context: DowngradeContext): Downgraded {
  switch (given.message_type) {
    case 'security_event':
      return element(securityEvent(given.message as Content<'security_event'>, context));
    case 'test':
      return element(testEvent(given.message as Content<'test'>, context));
    case 'security_response':
      return element(securityResponse(given, context));
    default:
      return incident(given, context);
  }
}

function element(value: ElementV1): Downgraded {
  return { kind: 'element', element: value };
}

function skipped(reason: DowngradeSkip): Downgraded {
  return { kind: 'skipped', reason };
}

/**
 * Most messages have no rating, and receivers that read `risk` fail where it is missing. The middle of 0 to 100:
 * neither end, where a receiver's threshold would drop or escalate everything.
 */
const UNRATED_RISK = 50;

/** The rating of v1: the message's own (D81), or with aliases the middle. */
function riskOf(coefficient: number | undefined, v1Aliases: boolean): { readonly risk?: number } {
  if (coefficient !== undefined) return { risk: coefficient };
  return v1Aliases ? { risk: UNRATED_RISK } : {};
}

/** D41: flattened, in the contract's order; `event_id` and `event_url` stay beside their aliases. */
function securityEvent(
  { risk_coefficient, ...message }: Content<'security_event'>,
  { v1Aliases }: DowngradeContext,
): ElementV1 {
  const risk = riskOf(risk_coefficient, v1Aliases);
  const event = { svc_payload_type: 'security_event', ...message, ...risk } as const;
  return v1Aliases ? { ...event, id: message.event_id, url: message.event_url } : event;
}

/** D41, D42: a test has `id` and `url` of its own, so that `risk` alone is added. */
function testEvent(
  { risk_coefficient, ...message }: Content<'test'>,
  { v1Aliases }: DowngradeContext,
): ElementV1 {
  return { svc_payload_type: 'test', ...message, ...riskOf(risk_coefficient, v1Aliases) };
}

/** D41: what stands in v2's envelope stands in the element. */
function securityResponse(given: MessageToDowngrade, context: DowngradeContext): ElementV1 {
  return {
    id: given.message_id,
    svc_payload_type: 'security_response',
    date_created: context.acceptedAt,
    ...(given.message as Content<'security_response'>),
  };
}

/** D43, D44. An update is no pulse of any genre, so that this reason comes first. */
function incident(given: MessageToDowngrade, context: DowngradeContext): Downgraded {
  const message = given.message as Incident;
  if (message.incident_status === 'updated') return skipped('v1-incident-update');
  // An inherited `v1`, of a polluted prototype, would change every incident.
  const hints = pulseHints(Object.hasOwn(given, 'v1') ? given.v1 : undefined);
  const genre = pulseGenre(given.message_type, hints);
  if (genre === undefined) return skipped('no-v1-genre');
  return element(pulse({ incident: message, genre, hints }, context));
}
