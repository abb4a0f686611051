/** The store of a queue in a folder, slow at random where callers can pass one another, and failing. */
import { ClassicLevel } from 'classic-level';
import { createSeededRandom } from '../../../src/testing/index.ts';

export type Dice = (below: number) => number;

export const diceOf = (seed: number): Dice => {
  const random = createSeededRandom(seed);
  return (below) => Math.floor(random() * below);
};

export async function slowly(dice: Dice): Promise<void> {
  const kind = dice(10);
  if (kind < 4) return;
  if (kind < 9) await new Promise<void>((resolve) => void setImmediate(resolve));
  else await new Promise<void>((resolve) => void setTimeout(resolve, dice(4)));
}

/** The package's own store, with pauses where callers can pass one another. */
export function slowLevel(dice: Dice, mayFail: () => boolean) {
  return class extends ClassicLevel<Buffer, Buffer> {
    constructor(...args: ConstructorParameters<typeof ClassicLevel<Buffer, Buffer>>) {
      super(...args);
      const write = this.batch.bind(this) as (...all: unknown[]) => Promise<void>;
      const read = this.iterator.bind(this) as (...all: unknown[]) => { nextv: Nextv };
      const batch = async (...all: unknown[]): Promise<void> => {
        await slowly(dice);
        const fails = mayFail();
        if (fails && dice(2) === 0) throw new Error('EIO: not written');
        await write(...all);
        await slowly(dice);
        if (fails) throw new Error('EIO: written');
      };
      const iterator = (...all: unknown[]) => {
        const made = read(...all);
        const nextv = made.nextv.bind(made);
        made.nextv = async (size) => {
          await slowly(dice);
          const found = await nextv(size);
          await slowly(dice);
          return found;
        };
        return made;
      };
      // Of a large write it is the package's own.
      const batchOf = (...all: unknown[]) => (all.length === 0 ? write() : batch(...all));
      Object.assign(this, { batch: batchOf, iterator });
    }
  };
}

type Nextv = (size: number) => Promise<unknown>;
