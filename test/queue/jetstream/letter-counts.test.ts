/** Dead letters that are counted without being listed each time. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { readQueueOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
import { opened } from '../../../src/queue/jetstream/opened.ts';
import { createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { NatsServer, natsProgram } from '../../helpers/nats-server.ts';
import { entryOf, ROW } from '../conformance/trial.ts';

const started = async () => {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const connection = { servers: server.address };
  await createJetStreamStreams({ connection });
  const queue = await opened(readQueueOptions({ connection }), {
    clock: systemClock,
    newId,
    load: loadNats,
    beginning: () => ({ row: ROW, lingerMs: 0 }),
    ring: () => {},
  });
  onTestFinished(() => queue.end());
  const { store, names } = queue.session;
  let lists = 0;
  const state = store.state.bind(store);
  store.state = (stream, subjects) => {
    if (stream === names.dead && subjects !== undefined) lists += 1;
    return state(stream, subjects);
  };
  const bring = async (applicationId: string, count: number): Promise<void> => {
    const death = { reason: 'too-large', end: null } as const;
    const past = { sends: 1, ageMs: 0, dueInMs: 0, progress: null, death };
    const entries = Array.from({ length: count }, () => ({ ...entryOf(applicationId), past }));
    await queue.letters.bring(entries);
  };
  const dead = async () => {
    const { applications } = await queue.stats.read();
    return Object.fromEntries([...applications].map(([id, ledger]) => [id, ledger.dead]));
  };
  return { queue, bring, dead, lists: () => lists };
};

describe.runIf(natsProgram !== undefined)('the counts of dead letters', () => {
  test('list them once, and read what has come since', async () => {
    const { bring, dead, lists } = await started();
    await bring('one', 3);
    expect(await dead()).toEqual({ one: 3 });
    expect(await dead()).toEqual({ one: 3 });
    await bring('two', 2);
    await bring('one', 1);
    expect(await dead()).toEqual({ one: 4, two: 2 });
    expect(lists()).toBe(1);
  });

  test('list them anew where some went, also where as many came', async () => {
    const { queue, bring, dead, lists } = await started();
    await bring('one', 3);
    await bring('two', 3);
    expect(await dead()).toEqual({ one: 3, two: 3 });
    await queue.letterEnds.purge({ applicationId: 'one' }, 'purged');
    await bring('two', 3);
    expect(await dead()).toEqual({ one: 0, two: 6 });
    expect(lists()).toBe(2);
  });
});
