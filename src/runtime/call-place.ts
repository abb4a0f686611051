/** Where a call was made: what is told of it later is told there, in the caller's stores and spans. */
import { AsyncResource } from 'node:async_hooks';

/** Costs less than a promise, which would lead back there too. */
export class CallPlace {
  readonly #resource = new AsyncResource('security-event-delivery');

  run(work: () => void): void {
    this.#resource.runInAsyncScope(work);
  }
}
