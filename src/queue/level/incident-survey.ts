/** What is there of incidents, counted anew: what was told of them is kept with what it belongs to, or goes. */
import { type Amounts, NO_AMOUNTS, type StoredIncident } from './incident-rows.ts';
import { incidentsKey, lastOf, numberOfName, seenKey, tableOf } from './keys.ts';
import type { Operation } from './store.ts';
import { decodeJson, encodeJson } from './values.ts';

interface Known {
  readonly digest: Buffer;
  readonly seenMs: number;
  isSeen: boolean;
}

export class IncidentSurvey {
  readonly #known = new Map<number, Known>();
  readonly #amounts: Amounts = { ...NO_AMOUNTS };

  /** In the order of their keys. Gives what is to be done. */
  see(key: Buffer, value: Buffer): Operation[] {
    switch (tableOf(key)) {
      case 'incidents':
        this.#amounts.lastNumber = decodeJson<Amounts>(value).lastNumber;
        return [];
      case 'incident': {
        const { number, seenMs } = decodeJson<StoredIncident>(value);
        this.#known.set(number, { digest: Buffer.from(key.subarray(1)), seenMs, isSeen: false });
        this.#amounts.incidents += 1;
        this.#amounts.lastNumber = Math.max(this.#amounts.lastNumber, number);
        return [];
      }
      case 'seen': {
        const known = this.#known.get(lastOf(key));
        if (known === undefined || !key.equals(seenKey(known.seenMs, lastOf(key)))) {
          return [{ type: 'del', key }];
        }
        known.isSeen = true;
        return [];
      }
      case 'named':
        if (!this.#known.has(numberOfName(key))) return [{ type: 'del', key }];
        this.#amounts.names += 1;
        return [];
      default:
        return [];
    }
  }

  /** What is missing. */
  complete(): Operation[] {
    const unseen = [...this.#known].filter(([, { isSeen }]) => !isSeen);
    const seen = unseen.map(
      ([number, { seenMs, digest }]): Operation => ({
        type: 'put',
        key: seenKey(seenMs, number),
        value: digest,
      }),
    );
    if (this.#amounts.lastNumber === 0) return seen;
    return [...seen, { type: 'put', key: incidentsKey(), value: encodeJson(this.#amounts) }];
  }
}
