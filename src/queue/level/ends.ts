/** Messages that are over without an attempt, and applications that are closed for good or again open. */
import type { Moment } from '../in-process/moment.ts';
import type { LevelApplication } from './application.ts';
import { Change } from './change.ts';
import type { DeadReason, ExpiredMessage } from './old-contract.ts';
import { readOlder } from './removal.ts';
import type { LevelState } from './state.ts';
import { earlier } from './tally.ts';

interface Going {
  readonly name: 'expire' | 'close-application';
  readonly reason: DeadReason;
  readonly acceptedBeforeMs: number;
  readonly max: number;
}

export class Ends {
  readonly #state: LevelState;

  constructor(state: LevelState) {
    this.#state = state;
  }

  async expire(olderThanMs: number, max: number, at: Moment): Promise<ExpiredMessage[]> {
    const acceptedBeforeMs = at.nowMs - olderThanMs;
    const expired: ExpiredMessage[] = [];
    for (const application of this.#state.content.all()) {
      if (expired.length >= max) break;
      const oldestMs = earlier(application.freshDueMs, application.againOldestMs);
      if (oldestMs === undefined || oldestMs >= acceptedBeforeMs) continue;
      const left = { acceptedBeforeMs, max: max - expired.length };
      const going = { name: 'expire', reason: 'horizon-passed', ...left } as const;
      expired.push(...(await this.#bury(application, going, at)));
    }
    return expired;
  }

  /** Nothing more comes in for it, nor is anything claimed. */
  close(applicationId: string, at: Moment): LevelApplication {
    const { content } = this.#state;
    const application = content.ensure(applicationId);
    if (application.isClosed) return application;
    application.close();
    content.changed(application);
    content.place(application, at);
    return application;
  }

  async empty(application: LevelApplication, max: number, at: Moment): Promise<ExpiredMessage[]> {
    const all = { acceptedBeforeMs: Number.POSITIVE_INFINITY, max };
    const going = { name: 'close-application', reason: 'destination-closed', ...all } as const;
    return await this.#bury(application, going, at);
  }

  async reopen(applicationId: string, at: Moment): Promise<void> {
    const { content } = this.#state;
    const application = content.find(applicationId);
    if (application === undefined) return;
    application.reopen();
    content.changed(application);
    await this.#state.write('reopen', new Change(content, at));
    content.place(application, at);
    this.#state.tellListeners();
  }

  /** Makes dead letters of what was accepted before and is not claimed. */
  async #bury(application: LevelApplication, going: Going, at: Moment): Promise<ExpiredMessage[]> {
    const { name, reason } = going;
    return await application.exclusively(async () => {
      const { store, content } = this.#state;
      const { arrivals } = application;
      const change = new Change(content, at);
      // Also where nothing is found: its row may be all that there is to write.
      content.changed(application);
      const { messages, head, ...left } = await readOlder(store, application, going);
      await this.#state.inParts(messages, (message) => {
        change.takeOut(application, message);
        change.bury(application, message, { reason, end: null });
      });
      this.#state.apply(change, () => {
        application.head = head;
        application.setDue(left, { arrivals, nowMs: at.nowMs });
      });
      await this.#state.write(name, change);
      content.place(application, this.#state.now());
      return messages.map(({ content: { applicationId, stored, origin } }) => ({
        applicationId,
        messageId: stored.messageId,
        origin,
      }));
    });
  }
}
