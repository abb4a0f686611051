/**
 * The scope of the current request, found through AsyncLocalStorage. A host adapter opens it; `identify`
 * and the reporter look it up.
 */
import { type Frozen, frozen } from '../../contract/frozen.ts';
import type { LogActor, LogHttp } from '../../contract/index.ts';
import { currentStore, runWithStore } from '../../runtime/async-context.ts';
import {
  type Block,
  type Identifiers,
  type RequestOutcome,
  RequestState,
} from './request-state.ts';

/** The part of a record's context that comes from the request. */
export interface RequestContext {
  readonly actor?: Frozen<LogActor>;
  readonly http?: Frozen<LogHttp>;
}

/** Reads the request when an event needs it: once, unless there is more to read. */
export type ReadRequest = () => RequestContext;

/** Changes while a request is served. Both are called for each event, and must be fast. */
export interface RequestProgress {
  /** Returns whether there is more than at the last read: a body that was parsed since. */
  readonly hasMore: () => boolean;
  /** Returns the status of a response that has begun. */
  readonly status: () => number | undefined;
}

export interface ScopeOptions {
  /** Status of the response if the request is blocked. Default 403. */
  readonly blockedStatus?: number;
  /** The host's own object. Nested scopes of the same request share their state. */
  readonly request?: object;
  /** The enclosing scope. */
  readonly outer?: RequestScope | undefined;
}

/** A value derived from a scope's context, valid while the context stays the same. */
export interface ScopeNote {
  readonly by: object;
  readonly of: RequestContext;
}

const NO_CONTEXT: RequestContext = Object.freeze({});

export class RequestScope {
  readonly blockedStatus: number;
  /**
   * A reporter's cache. Not in a WeakMap, whose entries V8 keeps until the next full collection. Holds one
   * note: two reporters in the same request replace each other's.
   */
  note: ScopeNote | undefined;
  readonly #read: ReadRequest;
  readonly #progress: RequestProgress | undefined;
  readonly #request: object | undefined;
  readonly #state: RequestState;
  #captured: RequestContext | undefined;
  #current: RequestContext | undefined;
  /** The state's changes when `#current` was built. */
  #changesSeen = 0;

  constructor(read: ReadRequest, progress?: RequestProgress, options: ScopeOptions = {}) {
    const { blockedStatus = 403, request, outer } = options;
    this.#read = read;
    this.#progress = progress;
    this.blockedStatus = blockedStatus;
    this.#request = request;
    const isNested = outer !== undefined && request !== undefined && outer.#request === request;
    this.#state = isNested ? outer.#state : new RequestState();
  }

  /** Returns the same deeply frozen object until something changes: events of a request share it. */
  context(): RequestContext {
    this.#update();
    if (this.#current === undefined || this.#changesSeen !== this.#state.changes) {
      this.#changesSeen = this.#state.changes;
      this.#current = this.#build();
    }
    return this.#current;
  }

  #update(): void {
    if (this.#progress === undefined) return;
    const status = statusNow(this.#progress);
    // The host's actual status counts more than the one of a block.
    if (status !== undefined && status !== this.#state.outcome?.status) this.answered({ status });
    if (this.#captured === undefined || !this.#progress.hasMore()) return;
    this.#captured = undefined;
    this.#current = undefined;
  }

  /** Sets the user for every later event of the request. */
  identify(identifiers: Identifiers, svcIdentifier?: string): void {
    this.#state.identify(identifiers, svcIdentifier);
  }

  /** Adds facts about the response. */
  answered(outcome: RequestOutcome): void {
    this.#state.answered(outcome);
  }

  /** Marks the request as blocked by the agent. */
  block(block: Block): void {
    this.#state.block(block);
  }

  /** See `RequestState`. */
  whenBlocked(watcher: () => void): void {
    this.#state.whenBlocked(watcher);
  }

  /** See `RequestState`. */
  expectBlock(): void {
    this.#state.expectBlock();
  }

  /** The error that blocked the request, even if the application caught it. */
  get blockedBy(): Block | undefined {
    return this.#state.blockedBy;
  }

  #build(): RequestContext {
    this.#captured ??= frozen(readSafely(this.#read));
    const { actor, http } = this.#captured;
    const { user, outcome } = this.#state;
    return Object.freeze({
      ...(actor === undefined ? {} : { actor: withUser(actor, user) }),
      ...(http === undefined ? {} : { http: withOutcome(http, outcome) }),
    });
  }
}

/** Usually there is no user and no outcome; then the captured objects are used without a copy. */
const withUser = (actor: Frozen<LogActor>, user: RequestState['user']): Frozen<LogActor> =>
  user === undefined ? actor : Object.freeze({ ...actor, ...user });

const withOutcome = (
  http: Frozen<LogHttp>,
  outcome: RequestOutcome | undefined,
): Frozen<LogHttp> =>
  outcome === undefined
    ? http
    : Object.freeze({ ...http, response: Object.freeze({ ...http.response, ...outcome }) });

/** Returns undefined for a status outside the contract, or if the host's function throws. */
function statusNow({ status }: RequestProgress): number | undefined {
  try {
    const now = status();
    return Number.isInteger(now) && (now as number) >= 100 && (now as number) <= 599
      ? now
      : undefined;
  } catch {
    return undefined;
  }
}

/** A request that cannot be read costs its context, never the event or the host. */
function readSafely(read: ReadRequest): RequestContext {
  try {
    return read();
  } catch {
    return {};
  }
}

/** Runs `work` in the scope, also everything asynchronous that it starts. Returns or throws what `work` does. */
export function runInScope<T>(scope: RequestScope, work: () => T): T {
  return runWithStore(scope, work);
}

/** Returns undefined in the library's own work, which belongs to no request. */
export function currentScope(): RequestScope | undefined {
  const store = currentStore();
  return store instanceof RequestScope ? store : undefined;
}

/**
 * Returns `actor` and `http` of the current request. Empty without a request, without its host adapter, or
 * if the request cannot be read. Deeply frozen, and the same object until something changes.
 */
export function currentContext(): RequestContext {
  return currentScope()?.context() ?? NO_CONTEXT;
}

/**
 * Sets the user of the current request for every later event in it. Returns `false`, without effect, if
 * there is no request or its host adapter is not in use.
 *
 * @param identifiers strings, numbers or booleans by name; `null` after a logout.
 * @param svcIdentifier plain text, which is then encoded for the contract.
 */
export function identify(identifiers: Identifiers, svcIdentifier?: string): boolean {
  const scope = currentScope();
  scope?.identify(identifiers, svcIdentifier);
  return scope !== undefined;
}
