/** Builds the context of a record: the call's, completed from the current request. */
import { isIP } from 'node:net';
import { normaliseAddress } from '../address/normalise.ts';
import { describeNormalised } from '../capture/enrichment/describe-address.ts';
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import type { RequestContext } from '../capture/request/request-scope.ts';
import { isObject } from '../contract/dispatch.ts';
import type { JsonObject, LogActor } from '../contract/index.ts';
import { definedProperties, ownProperties } from '../own-properties.ts';
import type { ActorInput, EventContext } from './event-input.ts';

/** Not validated yet. */
export interface UnvalidatedContext {
  readonly actor?: object;
  readonly http?: object;
}

/**
 * Merges the call's context over the request's. Adds the facts of an address given as text. Keeps text
 * that is not an address, so that validation reports its path.
 */
export function contextOfEvent(
  { actor, http }: EventContext,
  request: RequestContext,
  enrichment: Enrichment | undefined,
): UnvalidatedContext {
  const known = actor === undefined ? request.actor : mergeActor(actor, request.actor, enrichment);
  const exchange = http ?? request.http;
  return {
    ...(known === undefined ? {} : { actor: known }),
    ...(exchange === undefined ? {} : { http: exchange }),
  };
}

function mergeActor(
  actor: ActorInput,
  known: RequestContext['actor'],
  enrichment: Enrichment | undefined,
): object {
  // Validation reports a value that is not an object.
  if (typeof actor !== 'object' || actor === null) return actor;
  const { ip: given, ...rest } = ownProperties(actor);
  const normal = typeof given === 'string' ? normaliseAddress(given) : undefined;
  const facts = typeof given === 'string' ? { address: given } : given;
  const ip =
    normal === undefined
      ? withNormalAddress(facts ?? known?.ip)
      : describeNormalised(normal, enrichment);
  // Another address is another actor, not the user of this request.
  const user = ip?.address === known?.ip.address ? known : undefined;
  return {
    identifiers: user?.identifiers ?? null,
    svc_identifier: user?.svc_identifier ?? null,
    ...definedProperties(rest),
    ...(ip === undefined ? {} : { ip }),
  };
}

/** Normalises `address`, and sets `metadata.version` to match. Validation reports facts that are not usable. */
export function withNormalAddress<T extends { readonly address: string } | undefined>(facts: T): T {
  if (typeof facts !== 'object' || facts === null) return facts;
  const { address, metadata, ...rest } = ownProperties<Partial<LogActor['ip']>>(facts);
  const normal = typeof address === 'string' ? normaliseAddress(address) : undefined;
  if (normal === undefined || typeof metadata !== 'object' || metadata === null) return facts;
  const version = normal.includes(':') ? 6 : 4;
  return { ...rest, address: normal, metadata: { ...metadata, version } } as unknown as T;
}

/**
 * Returns the actor if its address and the facts about it are usable for a message. Otherwise the
 * message has no actor, and validation of the record reports the error.
 */
export function actorForMessage(context: JsonObject): LogActor | undefined {
  const actor = Object.hasOwn(context, 'actor') ? context['actor'] : undefined;
  if (!isObject(actor)) return undefined;
  const { ip } = actor;
  const isKnown = isObject(ip) && isObject(ip['metadata']) && isObject(ip['geo']);
  const address = isKnown ? ip['address'] : undefined;
  const isActor = typeof address === 'string' && isIP(address) > 0;
  return isActor ? (actor as unknown as LogActor) : undefined;
}
