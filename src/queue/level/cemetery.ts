/** What happens to dead letters, one call after the other: each letter has one end. */

import { Change } from './change.ts';
import { type Cursor, type Letter, letterPages, numberOf, PAGE, shownLetter } from './letters.ts';
import type { DeadLetterFilter, DeadLetterPage } from './old-contract.ts';
import type { LevelState } from './state.ts';

export interface PageRequest extends DeadLetterFilter {
  readonly limit: number;
  readonly after?: string;
}

/** Of those that have to go, so many are read at first: about as many go as came in. */
const FEW = 8;

const EVERYTHING = {};
const WHOLE = (): Cursor => ({ after: 0, size: PAGE });

interface Going {
  readonly name: 'replay' | 'purge' | 'evict';
  /** Asked for when it is its turn. */
  readonly from?: () => Cursor;
}

interface Census {
  readonly content: Change['content'];
  readonly dead: number;
  readonly lastDeath: number;
}

export class Cemetery {
  readonly #state: LevelState;
  readonly #maxBytes: number;
  #lock: Promise<unknown> = Promise.resolve();
  /** Where the oldest was last looked for and found: what went before left its gravestones there. */
  #oldest = 0;

  constructor(state: LevelState, maxBytes: number) {
    this.#state = state;
    this.#maxBytes = maxBytes;
  }

  async page({ limit, after, ...filter }: PageRequest): Promise<DeadLetterPage> {
    const found: Letter[] = [];
    // One more than is shown tells whether there is another page.
    const from = { after: numberOf(after ?? '0'), size: Math.min(limit + 1, PAGE) };
    const census = after === undefined ? this.#census(filter) : undefined;
    for await (const letters of letterPages(this.#state, filter, from)) {
      found.push(...letters);
      if (found.length > limit) break;
    }
    const items = found.slice(0, limit).map(shownLetter);
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    if (next === undefined) this.#compare(census, filter, found.length);
    return next === undefined ? { items } : { items, next };
  }

  /** How many there are, while nothing is being written. */
  #census({ applicationId, ids }: DeadLetterFilter): Census | undefined {
    const { content, store } = this.#state;
    if (ids !== undefined || !store.isAtRest) return undefined;
    const one = applicationId === undefined ? undefined : content.find(applicationId);
    const meant = applicationId === undefined ? [...content.all()] : [one].flatMap((a) => a ?? []);
    const dead = meant.reduce((sum, { counts }) => sum + counts.dead, 0);
    return { content, dead, lastDeath: content.lastDeath };
  }

  /** Where all were read, none came or left meanwhile, and there are fewer: some are gone without a trace. */
  #compare(before: Census | undefined, filter: DeadLetterFilter, found: number): void {
    if (before === undefined || found >= before.dead) return;
    const { content, dead, lastDeath } = this.#census(filter) ?? {};
    const isSame =
      content === before.content && dead === before.dead && lastDeath === before.lastDeath;
    if (isSame) this.#state.store.folder.suspect('counts');
  }

  /** As many as there is room for; those of closed applications stay. */
  async replay(filter: DeadLetterFilter): Promise<number> {
    return await this.#each({ name: 'replay' }, filter, (letter, change) => {
      const { content, death, id } = letter;
      const { room } = change.content;
      const application = change.content.find(content.applicationId);
      const { sizeBytes } = content;
      if (application === undefined || application.isClosed || !room.takeOne(sizeBytes)) {
        return undefined;
      }
      change.unbury(application, id, sizeBytes);
      change.revive(application, content, death.sends);
      return application;
    });
  }

  async purge(filter: DeadLetterFilter, as: 'purged' | 'moved'): Promise<number> {
    return await this.#each({ name: 'purge' }, filter, ({ content, id }, change) => {
      const application = change.content.find(content.applicationId);
      if (application === undefined) return undefined;
      change.unbury(application, id, content.sizeBytes);
      application.discard(as);
      return application;
    });
  }

  /** Discards the oldest past the bytes for them, of whichever application. */
  async evict(): Promise<void> {
    await this.#evict(() => this.#oldest);
    // One that was written late lies before.
    if (this.isFull && this.#oldest > 0) await this.#evict(() => 0);
  }

  get isFull(): boolean {
    return this.#state.content.deadBytes > this.#maxBytes;
  }

  async #evict(after: () => number): Promise<void> {
    let first: number | undefined;
    const from = () => ({ after: after(), size: FEW });
    await this.#each({ name: 'evict', from }, EVERYTHING, ({ content, id }, change) => {
      first ??= id;
      this.#oldest = first - 1;
      if (change.content.deadBytes <= this.#maxBytes) return 'enough';
      const application = change.content.find(content.applicationId);
      if (application === undefined) return undefined;
      change.unbury(application, id, content.sizeBytes);
      application.discard('evicted');
      return application;
    });
  }

  /** Page by page, each of them one write. `act` gives the application of a letter that left. */
  async #each(
    { name, from = WHOLE }: Going,
    filter: DeadLetterFilter,
    act: (letter: Letter, change: Change) => ReturnType<Change['content']['find']> | 'enough',
  ): Promise<number> {
    const work = async (): Promise<number> => {
      let count = 0;
      const { content } = this.#state;
      for await (const page of letterPages(this.#state, filter, from())) {
        // What was read before the folder was opened anew may have left since.
        const change = new Change(content, this.#state.now());
        const ends: ReturnType<typeof act>[] = [];
        this.#state.inOneGo(() => {
          for (const letter of page) ends.push(act(letter, change));
        });
        const applications = ends.flatMap((end) => (typeof end === 'object' ? [end] : []));
        count += applications.length;
        if (applications.length > 0) {
          await this.#state.writeArrivals(name, change, new Set(applications));
        }
        if (ends.includes('enough')) break;
      }
      return count;
    };
    const running = this.#lock.then(work, work);
    this.#lock = running.catch(() => {});
    return await running;
  }
}
