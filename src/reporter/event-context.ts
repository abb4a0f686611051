/** The context of a record: what the call gives, completed from the current request. */
import { normaliseAddress } from '../address/normalise.ts';
import { describeNormal } from '../capture/enrichment/describe-address.ts';
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import type { RequestContext } from '../capture/request/request-scope.ts';
import type { LogActor } from '../contract/index.ts';
import { ownProperties } from '../own-properties.ts';
import type { ActorInput, EventContext } from './event-input.ts';

/** Given by the caller, not validated yet. */
export interface RawContext {
  readonly actor?: object;
  readonly http?: object;
}

/**
 * The parts of the call count more than those of the request. An address that is text is described;
 * text that is no address stays, for the contract to refuse it by its path.
 */
export function contextOfEvent(
  { actor, http }: EventContext,
  request: RequestContext,
  enrichment: Enrichment | undefined,
): RawContext {
  const known = actor === undefined ? request.actor : merged(actor, request.actor, enrichment);
  const by = http ?? request.http;
  return {
    ...(known === undefined ? {} : { actor: known }),
    ...(by === undefined ? {} : { http: by }),
  };
}

function merged(
  actor: ActorInput,
  known: RequestContext['actor'],
  enrichment: Enrichment | undefined,
): object {
  // What is no object is the contract's to refuse.
  if (typeof actor !== 'object' || actor === null) return actor;
  const { ip: given = known?.ip, ...rest } = ownProperties(actor);
  const ip =
    typeof given === 'string' ? (described(given, enrichment) ?? { address: given }) : given;
  // Another address is another actor: the user of this request has nothing to do with it.
  const user = ip?.address === known?.ip.address ? known : undefined;
  return {
    identifiers: user?.identifiers ?? null,
    svc_identifier: user?.svc_identifier ?? null,
    ...defined(rest),
    ...(ip === undefined ? {} : { ip }),
  };
}

/** A key whose value is undefined counts as absent (D0). */
const defined = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** `undefined` for text that is no address. */
export function described(
  address: string,
  enrichment: Enrichment | undefined,
): LogActor['ip'] | undefined {
  const normal = normaliseAddress(address);
  return normal === undefined ? undefined : describeNormal(normal, enrichment);
}
