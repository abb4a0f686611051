/**
 * Sends a message to each of many applications, some of which never answer (black holes). Each has its own address
 * below 127.0.0.0/8, so this runs on Linux only. The sender has its default options.
 */
import { messageNow, startReceiver, untilArrived } from './deliver.mjs';
import { applicationAt } from './inputs.mjs';
import { STORES } from './queue.mjs';

const LAST_PARTS = 250;

/** Returns an address of 127.0.0.0/8, so that each destination has its own connections. */
export const hostOf = (index) =>
  `127.1.${Math.floor(index / LAST_PARTS)}.${1 + (index % LAST_PARTS)}`;

/** Spreads the black holes evenly among the other applications. */
function applicationsFor({ healthy, holes }, origin) {
  const { port } = new URL(origin);
  const count = healthy + holes;
  const holesBefore = (index) => Math.floor((index * holes) / count);
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const path = holesBefore(index + 1) > holesBefore(index) ? 'hang' : 'well';
      const url = `http://${hostOf(index)}:${port}/${path}`;
      return [`app-${index}`, applicationAt(url)];
    }),
  );
}

/** Starts a sender with the queue of this name. */
export async function open(queueName, numbers) {
  const { createWebhookSender } = await import('security-event-delivery');
  const receiver = await startReceiver('0.0.0.0');
  const store = await STORES[queueName]();
  const applications = applicationsFor(numbers, receiver.origin);
  const sender = createWebhookSender({
    settings: { applications },
    network: 'allow-private',
    queue: store.open(),
  });
  return {
    /** Resolves to times in milliseconds when each healthy application has received its message. */
    serve: async () => {
      const startedAt = performance.now();
      await sender.send(Object.keys(applications).map((id) => messageNow(id)));
      await untilArrived(receiver, numbers.healthy);
      return { totalMs: performance.now() - startedAt, p99Ms: await receiver.ask('p99') };
    },
    close: async () => {
      await sender.close({ deadlineMs: 0 });
      await store.remove();
      receiver.stop();
    },
  };
}

const serving = (queueName, holesShare, figure) => async () => {
  let scene;
  return {
    prepare: async (healthy) => {
      scene = await open(queueName, { healthy, holes: Math.round(healthy * holesShare) });
    },
    run: async () => (await scene.serve())[figure],
    close: () => scene.close(),
  };
};

/** A tenth of all applications. */
const A_TENTH = 1 / 9;

export const sides = Object.fromEntries(
  Object.keys(STORES).flatMap((name) => [
    [`${name}, p99 with black holes`, serving(name, A_TENTH, 'p99Ms')],
    [`${name}, p99 without`, serving(name, 0, 'p99Ms')],
    [`${name}, all with black holes`, serving(name, A_TENTH, 'totalMs')],
    [`${name}, all without`, serving(name, 0, 'totalMs')],
  ]),
);
