/**
 * The request that is being served, found by whatever runs on its behalf, however deep and late. A
 * host adapter opens a scope; `identify` and the reporter look it up.
 */
import { type Frozen, frozen } from '../../contract/frozen.ts';
import type { LogActor, LogHttp } from '../../contract/index.ts';
import { currentSurroundings, runWithin } from '../../runtime/async-context.ts';
import {
  type Block,
  type Identifiers,
  type RequestOutcome,
  RequestStory,
} from './request-story.ts';

/** What a record tells of who caused an event, and by what request. */
export interface RequestContext {
  readonly actor?: Frozen<LogActor>;
  readonly http?: Frozen<LogHttp>;
}

/** Reads the request, and only if something happens in it: once, unless there is more to read. */
export type ReadRequest = () => RequestContext;

/** What changes while a request is served. Asked for each event: both are quick. */
export interface RequestProgress {
  /** Whether there is more to read than when it was last read: a body that was parsed since. */
  readonly hasMore: () => boolean;
  /** The status of an answer that has begun. */
  readonly status: () => number | undefined;
}

export interface ScopeOptions {
  /** With what a request of this scope is answered when it is blocked. Default 403. */
  readonly blockedStatus?: number;
  /** The host's own object. Scopes of the same one, within one another, have one story. */
  readonly request?: object;
  /** The scope that this one is opened in. */
  readonly outer?: RequestScope | undefined;
}

/** What was made of a scope's context, and is of use for as long as the context stays the same. */
export interface ScopeNote {
  readonly by: object;
  readonly of: RequestContext;
}

const NOTHING: RequestContext = Object.freeze({});

export class RequestScope {
  readonly blockedStatus: number;
  /**
   * Whoever tells of the scope keeps it here. In a WeakMap, V8 keeps all that was ever put there until
   * it next collects everything. There is room for one: where two reporters tell of the same request,
   * each starts anew after the other.
   */
  note: ScopeNote | undefined;
  readonly #read: ReadRequest;
  readonly #progress: RequestProgress | undefined;
  readonly #request: object | undefined;
  readonly #story: RequestStory;
  #captured: RequestContext | undefined;
  #current: RequestContext | undefined;
  /** Of the story, when `#current` was built. */
  #changesSeen = 0;

  constructor(read: ReadRequest, progress?: RequestProgress, options: ScopeOptions = {}) {
    const { blockedStatus = 403, request, outer } = options;
    this.#read = read;
    this.#progress = progress;
    this.blockedStatus = blockedStatus;
    this.#request = request;
    const isNested = outer !== undefined && request !== undefined && outer.#request === request;
    this.#story = isNested ? outer.#story : new RequestStory();
  }

  /** The same object until something changes, frozen to its leaves: events of a request share it. */
  context(): RequestContext {
    this.#follow();
    if (this.#current === undefined || this.#changesSeen !== this.#story.changes) {
      this.#changesSeen = this.#story.changes;
      this.#current = this.#build();
    }
    return this.#current;
  }

  #follow(): void {
    if (this.#progress === undefined) return;
    const status = statusNow(this.#progress);
    // What the host answers in the end counts more than what was meant to be answered.
    if (status !== undefined && status !== this.#story.outcome?.status) this.answered({ status });
    if (this.#captured === undefined || !this.#progress.hasMore()) return;
    this.#captured = undefined;
    this.#current = undefined;
  }

  /** Holds for every later event of the request. */
  identify(identifiers: Identifiers, svcIdentifier?: string): void {
    this.#story.identify(identifiers, svcIdentifier);
  }

  /** What is known of the answer, on top of what was known before. */
  answered(outcome: RequestOutcome): void {
    this.#story.answered(outcome);
  }

  /** The agent refused the request. */
  block(block: Block): void {
    this.#story.block(block);
  }

  /** See `RequestStory`. */
  whenBlocked(watcher: () => void): void {
    this.#story.whenBlocked(watcher);
  }

  /** See `RequestStory`. */
  expectBlock(): void {
    this.#story.expectBlock();
  }

  /** What an agent refused it with, also where the application caught it. */
  get blockedBy(): Block | undefined {
    return this.#story.blockedBy;
  }

  #build(): RequestContext {
    // It is ours alone, and every event of the request is told the same.
    this.#captured ??= frozen(readSafely(this.#read));
    const { actor, http } = this.#captured;
    const { user, outcome } = this.#story;
    return Object.freeze({
      ...(actor === undefined ? {} : { actor: of(actor, user) }),
      ...(http === undefined ? {} : { http: answeredBy(http, outcome) }),
    });
  }
}

/** Mostly nobody has said who it is, nor how it is answered: then what was captured stands as it is. */
const of = (actor: Frozen<LogActor>, user: RequestStory['user']): Frozen<LogActor> =>
  user === undefined ? actor : Object.freeze({ ...actor, ...user });

const answeredBy = (http: Frozen<LogHttp>, outcome: RequestOutcome | undefined): Frozen<LogHttp> =>
  outcome === undefined
    ? http
    : Object.freeze({ ...http, response: Object.freeze({ ...http.response, ...outcome }) });

/** As the contract has it: what else a host may send is left out, and so is what it throws. */
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

/** Runs `work`, and all that it starts, within the scope. Gives what `work` gives, or throws. */
export function runInScope<T>(scope: RequestScope, work: () => T): T {
  return runWithin(scope, work);
}

/** None in our own work, which is nobody's request either. */
export function currentScope(): RequestScope | undefined {
  const surroundings = currentSurroundings();
  return surroundings instanceof RequestScope ? surroundings : undefined;
}

/**
 * What is known of the current request: `actor` and `http` of a record's context. Empty where there
 * is no request, its adapter is not in use, or it cannot be read. Frozen to its leaves, and the same
 * object until something changes.
 */
export function currentContext(): RequestContext {
  return currentScope()?.context() ?? NOTHING;
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
