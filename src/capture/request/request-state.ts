/** State of a request while it is served: its user and its outcome. Nested adapters share it. */
import { encodeSvcIdentifier, type LogActor } from '../../contract/index.ts';

/** The user: see the contract's `actor.identifiers`. `null`: unknown. */
export type Identifiers = LogActor['identifiers'];

/** The response, as far as it is known. */
export interface RequestOutcome {
  /** 100 to 599. */
  readonly status?: number;
  /** Whether the agent blocked the request. */
  readonly blocked?: boolean;
}

/** The error that blocked a request. */
export interface Block extends Error {
  readonly status: number;
}

export class RequestState {
  #user: Pick<LogActor, 'identifiers' | 'svc_identifier'> | undefined;
  #outcome: RequestOutcome | undefined;
  #block: Block | undefined;
  #changes = 0;
  /** `undefined` once a block is expected. */
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

  /** Runs `watcher` when a block is expected, or at once if it is already. */
  whenBlocked(watcher: () => void): void {
    if (this.#blockWatchers === undefined) watcher();
    else this.#blockWatchers.push(watcher);
  }

  /** Must be called when an error that blocks the request was created: it is about to be thrown. */
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

  /** The number of changes so far. */
  get changes(): number {
    return this.#changes;
  }
}
