/** Builds the context of a record: the call's, completed from the current request. */
import { normaliseAddress } from '../address/normalise.ts';
import { describeNormal } from '../capture/enrichment/describe-address.ts';
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import type { RequestContext } from '../capture/request/request-scope.ts';
import type { LogActor } from '../contract/index.ts';
import { definedProperties, ownProperties } from '../own-properties.ts';
import type { ActorInput, EventContext } from './event-input.ts';

/** Not validated yet. */
export interface RawContext {
  readonly actor?: object;
  readonly http?: object;
}

/**
 * Merges the call's context over the request's. An address given as text is described; text that is
 * no address is kept, so that validation reports its path.
 */
export function contextOfEvent(
  { actor, http }: EventContext,
  request: RequestContext,
  enrichment: Enrichment | undefined,
): RawContext {
  const known = actor === undefined ? request.actor : merged(actor, request.actor, enrichment);
  const exchange = http ?? request.http;
  return {
    ...(known === undefined ? {} : { actor: known }),
    ...(exchange === undefined ? {} : { http: exchange }),
  };
}

function merged(
  actor: ActorInput,
  known: RequestContext['actor'],
  enrichment: Enrichment | undefined,
): object {
  // Validation reports a value that is no object.
  if (typeof actor !== 'object' || actor === null) return actor;
  const { ip: given = known?.ip, ...rest } = ownProperties(actor);
  const ip =
    typeof given === 'string' ? (described(given, enrichment) ?? { address: given }) : given;
  // Another address is another actor, not the user of this request.
  const user = ip?.address === known?.ip.address ? known : undefined;
  return {
    identifiers: user?.identifiers ?? null,
    svc_identifier: user?.svc_identifier ?? null,
    ...definedProperties(rest),
    ...(ip === undefined ? {} : { ip }),
  };
}

/** Returns `undefined` for text that is no address. */
export function described(
  address: string,
  enrichment: Enrichment | undefined,
): LogActor['ip'] | undefined {
  const normal = normaliseAddress(address);
  return normal === undefined ? undefined : describeNormal(normal, enrichment);
}
