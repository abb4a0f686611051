/** Remembers the async context of a call, for callbacks that must run with the caller's stores and spans. */
import { AsyncResource } from 'node:async_hooks';

/** Costs less than a promise, which would also restore the context. */
export class CallPlace {
  readonly #resource = new AsyncResource('security-event-delivery');

  run(work: () => void): void {
    this.#resource.runInAsyncScope(work);
  }
}
