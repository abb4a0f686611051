/** Processes on a server of their own, with what an open queue in JetStream consists of; gone with the test. */
import { onTestFinished } from 'vitest';
import { readQueueOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
import { tokenOf } from '../../../src/queue/jetstream/names.ts';
import { type Opened, opened } from '../../../src/queue/jetstream/opened.ts';
import { createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { NatsServer } from '../../helpers/nats-server.ts';
import { entryOf, ROW } from '../conformance/trial.ts';

/** Opens one more process each time. */
export async function startedServer(maxPendingMessages = 100): Promise<() => Promise<Opened>> {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const connection = { servers: server.address };
  await createJetStreamStreams({ connection, maxPendingMessages });
  return async () => {
    const queue = await opened(readQueueOptions({ connection }), {
      clock: systemClock,
      newId,
      load: loadNats,
      beginning: () => ({ row: ROW, lingerMs: 0 }),
      ring: () => {},
    });
    onTestFinished(() => queue.end());
    return queue;
  };
}

const PAST = {
  sends: 1,
  ageMs: 0,
  dueInMs: 0,
  progress: null,
  death: { reason: 'too-large', end: null },
} as const;

/** How many dead letters of `one` there are to begin with. */
export const COUNT = 5;

export const TOKEN = tokenOf('one');

/** Two processes, and dead letters of one application. */
export async function twoWithLetters(
  maxPendingMessages?: number,
): Promise<readonly [Opened, Opened]> {
  const open = await startedServer(maxPendingMessages);
  const both = [await open(), await open()] as const;
  await bringLetters(both[0], 'one', COUNT);
  return both;
}

/** Nothing of what was done before is left in the row. */
export async function forget({ rows, work }: Opened): Promise<void> {
  await rows.change(work.view(TOKEN), (row) => ({ ...row, notBeforeMs: row.notBeforeMs + 1 }));
}

export const sequencesOf = async ({ letterLists }: Opened): Promise<number[]> => {
  const { items } = await letterLists.page({ limit: 100 });
  return items.map(({ id }) => Number(id));
};

export async function bringLetters(
  { letters }: Opened,
  applicationId: string,
  count: number,
): Promise<void> {
  const entries = Array.from({ length: count }, () => ({ ...entryOf(applicationId), past: PAST }));
  await letters.bring(entries);
}
