/**
 * The scope of the current request, found through AsyncLocalStorage. A host adapter opens it; `identify`
 * and the reporter look it up.
 */
import { deepFreeze, type Frozen } from '../../contract/frozen.ts';
import { encodeSvcIdentifier, type LogActor, type LogHttp } from '../../contract/index.ts';
import { currentStore, runWithStore } from '../../runtime/async-context.ts';
import { tryCall } from '../../runtime/host-calls.ts';
import { type Identifiers, readIdentifiers } from './identifiers.ts';

/** The part of a record's context that comes from the request. */
export interface RequestContext {
  readonly actor?: Frozen<LogActor>;
  readonly http?: Frozen<LogHttp>;
}

/** The error that blocked a request. */
export interface Block extends Error {
  readonly status: number;
}

export interface ScopeOptions {
  /** Returns whether the parsed body or parameters have changed since the last read. Called for each event. */
  readonly hasChanged?: () => boolean;
  /** Returns the status of a response that has begun. Called for each event. */
  readonly status?: (() => number | undefined) | undefined;
  /** Status of the response if the request is blocked. Default 403. */
  readonly blockedStatus?: number;
  /** The host's own object. A scope within one of the same request shares its state. */
  readonly request?: object;
}

/** The data of a request that changes while it is served. Nested adapters share it. */
interface RequestState {
  /** `svc_identifier` is the contract's second identifier, in base64 (D11). */
  user: Pick<LogActor, 'identifiers' | 'svc_identifier'> | undefined;
  /** The response, as far as it is known. */
  response: { readonly status?: number; readonly blocked?: boolean } | undefined;
  blockedBy: Block | undefined;
  /** The number of changes so far. */
  changes: number;
  /** `undefined` once an error that blocks the request was created: its throw is expected. */
  blockWatchers: (() => void)[] | undefined;
}

const newState = (): RequestState => ({
  user: undefined,
  response: undefined,
  blockedBy: undefined,
  changes: 0,
  blockWatchers: [],
});

/**
 * Every copy of the package recognises a scope by this name, and calls its methods: raise the number when a method or
 * the state changes its meaning.
 */
const STATE: unique symbol = Symbol.for('security-event-delivery.request-state.1');

const NO_CONTEXT: RequestContext = Object.freeze({});

export class RequestScope {
  readonly blockedStatus: number;
  readonly request: object | undefined;
  /**
   * Data that a reporter derived from the context. Not in a WeakMap, whose entries V8 keeps until the next full
   * collection. Two reporters in the same request replace each other's.
   */
  cached: object | undefined;
  readonly #read: () => RequestContext;
  readonly #options: ScopeOptions;
  readonly [STATE]: RequestState;
  #captured: RequestContext | undefined;
  #current: RequestContext | undefined;
  /** The state's changes when `#current` was built. */
  #changesSeen = 0;

  /** `read` is called when an event needs the request: once, unless `hasChanged` returns true. */
  constructor(read: () => RequestContext, options: ScopeOptions = {}) {
    const { blockedStatus = 403, request } = options;
    const outer = currentScope();
    this.#read = read;
    this.#options = options;
    this.blockedStatus = blockedStatus;
    this.request = request;
    const isNested = request !== undefined && request === outer?.request;
    this[STATE] = isNested ? outer[STATE] : newState();
  }

  /** Returns the same deeply frozen object until something changes: events of a request share it. */
  context(): RequestContext {
    const { hasChanged, status } = this.#options;
    const now = status && tryCall(status);
    // The status that the host sent replaces the status of a block.
    if (isStatus(now) && now !== this[STATE].response?.status) this.addResponse({ status: now });
    if (this.#captured !== undefined && hasChanged?.() === true) {
      this.#captured = undefined;
      this.#current = undefined;
    }
    if (this.#current === undefined || this.#changesSeen !== this[STATE].changes) {
      this.#changesSeen = this[STATE].changes;
      this.#current = this.#build();
    }
    return this.#current;
  }

  /** Sets the user for every later event of the request. Returns false if a value was left out. */
  identify(given: Identifiers, svcIdentifier?: string): boolean {
    const { identifiers, isComplete } = readIdentifiers(given);
    const isText = typeof svcIdentifier === 'string';
    const encoded = isText ? encodeSvcIdentifier(svcIdentifier) : null;
    this[STATE].user = { identifiers, svc_identifier: encoded };
    this[STATE].changes += 1;
    return isComplete && (isText || svcIdentifier === undefined);
  }

  addResponse(response: NonNullable<RequestState['response']>): void {
    this[STATE].response = { ...this[STATE].response, ...response };
    this[STATE].changes += 1;
  }

  markBlocked(by: Block): void {
    this[STATE].blockedBy = by;
    this.addResponse({ blocked: true, status: by.status });
  }

  /** The error of `blockRequest`, even if the application caught it; or the one that an adapter has answered. */
  get blockedBy(): Block | undefined {
    return this[STATE].blockedBy;
  }

  /** Runs `watcher` when a block is expected, or at once if it is already. */
  whenBlocked(watcher: () => void): void {
    if (this[STATE].blockWatchers === undefined) watcher();
    else this[STATE].blockWatchers.push(watcher);
  }

  /** Must be called when an error that blocks the request was created: it is about to be thrown. */
  expectBlock(): void {
    const watchers = this[STATE].blockWatchers;
    this[STATE].blockWatchers = undefined;
    for (const watcher of watchers ?? []) watcher();
  }

  /** Usually there is no user and no response; then the captured objects are used without a copy. */
  #build(): RequestContext {
    // If the request cannot be read, only the context is lost, not the event.
    this.#captured ??= deepFreeze(tryCall(this.#read) ?? {});
    const { actor, http } = this.#captured;
    const { user, response } = this[STATE];
    return Object.freeze({
      ...(actor && { actor: user === undefined ? actor : Object.freeze({ ...actor, ...user }) }),
      ...(http && { http: response === undefined ? http : withResponse(http, response) }),
    });
  }
}

/** Returns whether the contract allows it as a status. */
const isStatus = (status: unknown): status is number =>
  Number.isInteger(status) && (status as number) >= 100 && (status as number) <= 599;

const withResponse = (http: Frozen<LogHttp>, response: RequestState['response']): Frozen<LogHttp> =>
  Object.freeze({ ...http, response: Object.freeze({ ...http.response, ...response }) });

/** Runs `work` in the scope, also everything asynchronous that it starts. Returns or throws what `work` does. */
export function runInScope<T>(scope: RequestScope, work: () => T): T {
  return runWithStore(scope, work);
}

/** Returns undefined in the library's own work, which belongs to no request. */
export function currentScope(): RequestScope | undefined {
  const store = currentStore();
  return store !== undefined && STATE in store ? (store as RequestScope) : undefined;
}

/**
 * Returns `actor` and `http` of the current request. Empty without a request, without its host adapter, or
 * if the request cannot be read. Deeply frozen, and the same object until something changes.
 */
export function currentContext(): RequestContext {
  return currentScope()?.context() ?? NO_CONTEXT;
}

/**
 * Sets the user of the current request for every later event in it, and returns `true`. Never throws.
 *
 * Returns `false` without effect if there is no request or its host adapter is not in use. Also returns `false`
 * if a value was left out, since the contract does not allow it: an object, such as an id of a database, or a
 * number that is not finite. `identifiers` must be `null` or an object with a value.
 *
 * @param identifiers strings, numbers or booleans by name; `null` after a logout.
 * @param svcIdentifier plain text, which is then encoded for the contract.
 */
export function identify(identifiers: Identifiers, svcIdentifier?: string): boolean {
  return currentScope()?.identify(identifiers, svcIdentifier) ?? false;
}
