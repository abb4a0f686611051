/**
 * The request that is being served, found by whatever runs on its behalf, however deep and late. A
 * host adapter opens a scope; `identify` and the reporter look it up.
 */
import { encodeSvcIdentifier, type LogActor, type LogHttp } from '../contract/index.ts';
import { currentSurroundings, runWithin } from '../system/ambient.ts';

/** What a record tells of who caused an event, and by what request. */
export interface RequestContext {
  readonly actor?: LogActor;
  readonly http?: LogHttp;
}

/** Who the user is: see the contract's `actor.identifiers` (D10). `null`: nobody who is known. */
export type Identifiers = LogActor['identifiers'];

/** How the request was answered, as far as that is known. */
export interface RequestOutcome {
  /** 100 to 599. */
  readonly status?: number;
  /** Whether the agent refused it. */
  readonly blocked?: boolean;
}

/** Reads the request, and only if something happens in it: once, unless there is more to read. */
export type ReadRequest = () => RequestContext;

/** What changes while a request is served. Asked for each event: both are quick and never throw. */
export interface RequestProgress {
  /** Whether there is more to read than when it was last read: a body that was parsed since. */
  readonly hasMore: () => boolean;
  /** The status of an answer that has begun. */
  readonly status: () => number | undefined;
}

export class RequestScope {
  /** With what a request of this scope is answered when it is blocked. */
  readonly blockedStatus: number;
  readonly #read: ReadRequest;
  readonly #progress: RequestProgress | undefined;
  #captured: RequestContext | undefined;
  #current: RequestContext | undefined;
  #user: Pick<LogActor, 'identifiers' | 'svc_identifier'> | undefined;
  #outcome: RequestOutcome = {};

  constructor(read: ReadRequest, progress?: RequestProgress, blockedStatus = 403) {
    this.#read = read;
    this.#progress = progress;
    this.blockedStatus = blockedStatus;
  }

  /** The same object until something changes, frozen: many events of a request share it. */
  context(): RequestContext {
    this.#follow();
    this.#current ??= this.#build();
    return this.#current;
  }

  #follow(): void {
    if (this.#progress === undefined) return;
    const status = this.#progress.status();
    // What the host answers in the end counts more than what was meant to be answered.
    if (status !== undefined && status !== this.#outcome.status) this.answered({ status });
    if (this.#captured === undefined || !this.#progress.hasMore()) return;
    this.#captured = undefined;
    this.#current = undefined;
  }

  /** Holds for every later event of the request. */
  identify(identifiers: Identifiers, svcIdentifier?: string): void {
    const encoded = svcIdentifier === undefined ? null : encodeSvcIdentifier(svcIdentifier);
    this.#user = { identifiers: identifiers && { ...identifiers }, svc_identifier: encoded };
    this.#current = undefined;
  }

  /** What is known of the answer, on top of what was known before. */
  answered(outcome: RequestOutcome): void {
    this.#outcome = { ...this.#outcome, ...outcome };
    this.#current = undefined;
  }

  /** Whether an agent refused it, also where the application caught what told so. */
  get isBlocked(): boolean {
    return this.#outcome.blocked === true;
  }

  #build(): RequestContext {
    this.#captured ??= readSafely(this.#read);
    const { actor, http } = this.#captured;
    return Object.freeze({
      ...(actor === undefined ? {} : { actor: { ...actor, ...this.#user } }),
      ...(http === undefined
        ? {}
        : { http: { ...http, response: { ...http.response, ...this.#outcome } } }),
    });
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

/** Runs `work`, and all that it starts, within the scope. Gives what `work` gives, or throws. */
export function runInScope<T>(scope: RequestScope, work: () => T): T {
  return runWithin(scope, work);
}

/** Runs `work` in no scope: what it causes is nobody's request. */
export function runOutsideScopes<T>(work: () => T): T {
  return runWithin(undefined, work);
}

/** None in our own work, which is nobody's request either. */
export function currentScope(): RequestScope | undefined {
  const surroundings = currentSurroundings();
  return surroundings instanceof RequestScope ? surroundings : undefined;
}

/**
 * What is known of the current request: `actor` and `http` of a record's context. Empty where there
 * is no request, its adapter is not in use, or it cannot be read. Frozen, and the same object until
 * something changes.
 */
export function currentContext(): RequestContext {
  return currentScope()?.context() ?? {};
}

/**
 * Tells who the user of the current request is, for every later event in it. `false` where there is
 * no request, or its adapter is not in use: nothing was changed.
 *
 * @param identifiers strings, numbers or booleans by name (D10); `null` after a logout.
 * @param svcIdentifier plain text; it is encoded as the contract wants it (D11).
 */
export function identify(identifiers: Identifiers, svcIdentifier?: string): boolean {
  const scope = currentScope();
  scope?.identify(identifiers, svcIdentifier);
  return scope !== undefined;
}
