/** A client of NATS that keeps back the last message that a call brings for an application, until it is let go. */
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
import { lastToken, tokenOf } from '../../../src/queue/jetstream/names.ts';
import type { Nats, Packages } from '../../../src/queue/jetstream/nats.ts';
import { TOLD } from '../../../src/queue/jetstream/store.ts';
import { deferred } from '../../helpers/deferred.ts';
import type { Hold } from '../conformance/harness.ts';

type Publication = Parameters<Nats['publish']>;

interface Told {
  readonly b?: readonly [call: string, index: number, count: number];
}

const isLastOf = (token: string, [subject, , options]: Publication): boolean => {
  const told = options?.headers?.get(TOLD) ?? '';
  if (told === '' || lastToken(subject) !== token) return false;
  const [, index = 0, count = 1] = (JSON.parse(told) as Told).b ?? [];
  return index === count - 1;
};

export class HeldCalls {
  /** Of the application whose calls are held. */
  #token: string | undefined;
  #kept: (() => void)[] = [];
  readonly #reached = deferred();

  /** In place of the queue's own. */
  readonly load = async (): Promise<Packages> => {
    const packages = await loadNats();
    const connect = async (options: object): Promise<Nats> => {
      const nats = await packages.connect(options);
      const publish = nats.publish.bind(nats);
      nats.publish = (...publication) => {
        if (this.#token === undefined || !isLastOf(this.#token, publication)) {
          publish(...publication);
          return;
        }
        this.#kept.push(() => publish(...publication));
        this.#reached.resolve();
      };
      return nats;
    };
    return { ...packages, connect };
  };

  hold(applicationId: string): Hold {
    this.#token = tokenOf(applicationId);
    return {
      reached: () => this.#reached.promise,
      letGo: () => {
        this.#token = undefined;
        // What was asked again meanwhile is the same, by its id.
        for (const publish of this.#kept) publish();
        this.#kept = [];
        return Promise.resolve();
      },
    };
  }
}
