/**
 * What is told of a request while it is served: who the user is, and how it ends. Adapters within one
 * another have a scope each, and one story: what the outer one was told holds within the inner one.
 */
import { encodeSvcIdentifier, type LogActor } from '../../contract/index.ts';

/** Who the user is: see the contract's `actor.identifiers` (D10). `null`: nobody who is known. */
export type Identifiers = LogActor['identifiers'];

/** How the request was answered, as far as that is known. */
export interface RequestOutcome {
  /** 100 to 599. */
  readonly status?: number;
  /** Whether the agent refused it. */
  readonly blocked?: boolean;
}

/** What ended a request. */
export interface Block extends Error {
  readonly status: number;
}

export class RequestStory {
  #user: Pick<LogActor, 'identifiers' | 'svc_identifier'> | undefined;
  #outcome: RequestOutcome | undefined;
  #block: Block | undefined;
  #changes = 0;
  /** `undefined` once a block is to be expected. */
  #blockWatchers: (() => void)[] | undefined = [];

  identify(identifiers: Identifiers, svcIdentifier?: string): void {
    const encoded = svcIdentifier === undefined ? null : encodeSvcIdentifier(svcIdentifier);
    const own = identifiers && Object.freeze({ ...identifiers });
    this.#user = { identifiers: own, svc_identifier: encoded };
    this.#changes += 1;
  }

  answered(outcome: RequestOutcome): void {
    this.#outcome = { ...this.#outcome, ...outcome };
    this.#changes += 1;
  }

  block(block: Block): void {
    this.#block = block;
    this.answered({ blocked: true, status: block.status });
  }

  /** Runs `watcher` before the request is blocked, or at once where it is. */
  whenBlocked(watcher: () => void): void {
    if (this.#blockWatchers === undefined) watcher();
    else this.#blockWatchers.push(watcher);
  }

  /** An error that blocks the request was made, and is about to be thrown. */
  expectBlock(): void {
    const watchers = this.#blockWatchers;
    this.#blockWatchers = undefined;
    for (const watcher of watchers ?? []) watcher();
  }

  get user(): Pick<LogActor, 'identifiers' | 'svc_identifier'> | undefined {
    return this.#user;
  }

  get outcome(): RequestOutcome | undefined {
    return this.#outcome;
  }

  get blockedBy(): Block | undefined {
    return this.#block;
  }

  /** Grows with whatever is told. */
  get changes(): number {
    return this.#changes;
  }
}
