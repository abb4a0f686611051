/** Caches the context that all events of a request share, with its JSON. */
import type { RequestContext, RequestScope } from '../capture/request/request-scope.ts';
import type { JsonObject, LogActor } from '../contract/index.ts';
import { inheritedKey } from '../contract/own-keys.ts';
import { serializeContext } from '../contract/serialize.ts';
import type { ContextJson } from '../log/validate-record.ts';
import { ownProperties } from '../own-properties.ts';
import type { Service } from '../projection/event-messages.ts';
import { actorForMessage } from './event-context.ts';

/** The context of the events of one request, with its JSON. */
export class SharedContext {
  readonly cache: SharedContextCache;
  readonly request: RequestContext;
  /** Deeply frozen. */
  readonly value: JsonObject;
  /** As {@link actorForMessage} returns it. */
  readonly actor: LogActor | undefined;
  readonly json: ContextJson;

  constructor(cache: SharedContextCache, request: RequestContext, service: Service) {
    this.cache = cache;
    this.request = request;
    // The parts of the request are frozen already.
    this.value = Object.freeze({ ...ownProperties(request), service }) as unknown as JsonObject;
    this.actor = actorForMessage(this.value);
    const strict = serializeContext(this.value, 'strict');
    this.json = { strict, open: strict ?? serializeContext(this.value, 'open') };
  }
}

/** Caches one context for each request, in its scope, and one for all events outside a request. */
export class SharedContextCache {
  readonly #service: Service;
  #outside: SharedContext | undefined;

  constructor(service: Service) {
    this.#service = Object.freeze({ ...service });
  }

  /** Returns undefined if the context must be built for each event. */
  find(request: RequestContext, scope: RequestScope | undefined): SharedContext | undefined {
    // A key inherited from a polluted prototype would be cached.
    if (inheritedKey() !== undefined) return undefined;
    const cached = scope === undefined ? this.#outside : scope.cached;
    const isSame = cached instanceof SharedContext && cached.cache === this;
    if (isSame && cached.request === request) return cached;
    const made = new SharedContext(this, request, this.#service);
    if (scope === undefined) this.#outside = made;
    else scope.cached = made;
    return made;
  }
}
