/** Processes on a server of their own, with what an open queue in JetStream consists of; gone with the test. */
import { onTestFinished } from 'vitest';
import { readQueueOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
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

export async function bringLetters(
  { letters }: Opened,
  applicationId: string,
  count: number,
): Promise<void> {
  const entries = Array.from({ length: count }, () => ({ ...entryOf(applicationId), past: PAST }));
  await letters.bring(entries);
}
