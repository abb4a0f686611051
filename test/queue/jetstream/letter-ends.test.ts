/** Dead letters that several processes end at once: each of them ends once, and counts once. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { readQueueOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
import { tokenOf } from '../../../src/queue/jetstream/names.ts';
import { type Opened, opened } from '../../../src/queue/jetstream/opened.ts';
import { createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { NatsServer, natsProgram } from '../../helpers/nats-server.ts';
import { entryOf, ROW } from '../conformance/trial.ts';

const COUNT = 5;

/** Two processes, and dead letters of one application. */
async function started(): Promise<readonly [Opened, Opened]> {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const connection = { servers: server.address };
  await createJetStreamStreams({ connection });
  const process = async (): Promise<Opened> => {
    const queue = await opened(readQueueOptions({ connection }), {
      clock: systemClock,
      newId,
      load: loadNats,
      beginning: () => ({ row: ROW, lingerMs: 0 }),
      ring: () => {},
    });
    onTestFinished(() => queue.end());
    await queue.stats.read();
    return queue;
  };
  const both = [await process(), await process()] as const;
  const death = { reason: 'too-large', end: null } as const;
  const past = { sends: 1, ageMs: 0, dueInMs: 0, progress: null, death };
  await both[0].letters.bring(Array.from({ length: COUNT }, () => ({ ...entryOf('one'), past })));
  return both;
}

const ENDS = {
  purge: ({ letterEnds }: Opened) => letterEnds.purge({}, 'purged'),
  replay: ({ letterEnds }: Opened) => letterEnds.replay({}),
} as const;

/** Nothing of what was done before is left in the row. */
async function forget({ rows, work }: Opened): Promise<void> {
  await rows.change(work.view(tokenOf('one')), (row) => ({ ...row, notBeforeMs: 1 }));
}

const TWO = [
  ['purge', 'purge', { pending: 0, discarded: { purged: COUNT } }],
  ['purge', 'replay', { pending: COUNT, discarded: {} }],
  ['replay', 'purge', { pending: 0, discarded: { purged: COUNT } }],
  ['replay', 'replay', { pending: COUNT, discarded: {} }],
] as const;

describe.runIf(natsProgram !== undefined)('who has listed dead letters', () => {
  test.each(TWO)(
    'does not %s them where another process did %s them meanwhile',
    async (later, sooner, left) => {
      const [one, other] = await started();
      const places = one.letters.places.bind(one.letters);
      let endedBefore = 0;
      one.letters.places = async (asked) => {
        const found = await places(asked);
        one.letters.places = places;
        endedBefore = await ENDS[sooner](other);
        await forget(other);
        return found;
      };
      expect([await ENDS[later](one), endedBefore]).toEqual([0, COUNT]);
      const { accepted, dead, ...rest } = await one.stats.read();
      expect({ accepted, dead }).toEqual({ accepted: COUNT, dead: 0 });
      expect(rest).toMatchObject(left);
    },
  );

  test('ends those that are there still', async () => {
    const [one, other] = await started();
    const [first] = await other.letters.places({ after: 0, limit: 1 });
    const places = one.letters.places.bind(one.letters);
    one.letters.places = async (asked) => {
      const found = await places(asked);
      await other.letterEnds.purge({ ids: [`${first?.sequence}`] }, 'purged');
      await forget(other);
      return found;
    };
    expect(await ENDS.purge(one)).toBe(COUNT - 1);
    expect(await one.stats.read()).toMatchObject({ accepted: COUNT, discarded: { purged: COUNT } });
  });
});
