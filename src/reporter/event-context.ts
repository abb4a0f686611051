/** A record's context: what the call says, and for the rest what is known of the current request. */
import type { Enrichment } from '../capture/enrichers.ts';
import type { RequestContext } from '../capture/request-scope.ts';
import { ownProperties } from '../own-properties.ts';
import { described } from './described.ts';
import type { ActorInput, EventContext } from './event-input.ts';

/** Of the caller's: nothing of it is checked yet. */
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
  const told = actor === undefined ? request.actor : merged(actor, request.actor, enrichment);
  const by = http ?? request.http;
  return {
    ...(told === undefined ? {} : { actor: told }),
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
