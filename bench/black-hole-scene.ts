/**
 * Very many applications, each with messages waiting and an address of its own below 127.0.0.0/8; some are
 * black holes. One sender delivers, the receivers are in another process, on real sockets.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { WebhookSender, WebhookSenderOptions } from '../src/index.ts';
import type { MessageQueue } from '../src/queue/queue.ts';

type Sender = Pick<WebhookSender, 'send'> & {
  readonly close: (options?: { readonly deadlineMs: number }) => Promise<unknown>;
};

export interface Scene {
  /** Of the sources or of the build. */
  readonly createSender: (options: WebhookSenderOptions) => Sender;
  /** Opened anew for the delivery; a queue in memory cannot be, and is `undefined`. */
  readonly openQueue: (() => MessageQueue) | undefined;
  readonly applications: number;
  /** Spread evenly, or all before the healthy ones. */
  readonly holes: number;
  readonly holesFirst?: boolean;
  /** For each application. */
  readonly messages: number;
  readonly maxActiveRequests?: number;
  readonly maxWaitingRequests?: number;
}

export interface Served {
  /** From the start of the delivery to the first message of each healthy one that was served, in order. */
  readonly firstMs: readonly number[];
  /** Requests that had no answer when the last healthy one was served. */
  readonly hanging: number;
}

interface Receiver {
  readonly port: number;
  readonly ask: <T>(question: 'served' | 'asked' | 'hanging' | 'times') => Promise<T>;
  readonly stop: () => void;
}

async function startReceiver(): Promise<Receiver> {
  const program = fileURLToPath(new URL('./black-hole-receiver.mjs', import.meta.url));
  const child = fork(program, { execArgv: [] });
  const answer = async <T>(): Promise<T> => ((await once(child, 'message')) as [T])[0];
  const ask = async <T>(question: string): Promise<T> => {
    child.send(question);
    return await answer<T>();
  };
  return { port: await answer<number>(), ask, stop: () => child.disconnect() };
}

/** On both sides of the socket. */
const now = (): number => performance.timeOrigin + performance.now();

const LAST_PARTS = 250;

function hostOf(index: number): string {
  const rest = Math.floor(index / LAST_PARTS);
  return `127.${1 + (rest >> 8)}.${rest & 255}.${1 + (index % LAST_PARTS)}`;
}

const SECRET = '5f0c2a9e7d3b4816'.repeat(4);

function settingsOf(scene: Scene, port: number) {
  const { applications, holes, holesFirst = false } = scene;
  const every = holesFirst || holes === 0 ? 1 : Math.floor(applications / holes);
  const isHole = (index: number): boolean => index % every === 0 && index / every < holes;
  const entries = Array.from({ length: applications }, (_, index) => {
    const url = `http://${hostOf(index)}:${port}/${isHole(index) ? 'hang' : 'well'}`;
    const application = { name: 'shop', environment: 'production', url, secret: SECRET };
    return [`app-${index}`, application] as const;
  });
  return { applications: Object.fromEntries(entries) };
}

const messageFor = (application_id: string) => ({
  message_type: 'security_event' as const,
  message: {
    application_id,
    application_name: 'shop',
    environment: 'production',
    date_occurred: '2026-11-21T10:00:00.000+00:00',
    event_category: 'injection',
    event_id: '01a20056-a0b5-70dc-abb4-d0d6d0d34bdd',
    event_kind: 'sql_injection',
    event_url: 'https://dashboard.example/events/1',
    humanized_description: 'x'.repeat(200),
    ips: [],
  },
});

export async function runScene(scene: Scene): Promise<Served> {
  const receiver = await startReceiver();
  const open: Sender[] = [];
  try {
    const settings = settingsOf(scene, receiver.port);
    const { maxActiveRequests, maxWaitingRequests, createSender, openQueue } = scene;
    const make = (role: 'both' | 'enqueue'): Sender => {
      const slots = {
        ...(maxActiveRequests === undefined ? {} : { maxActiveRequests }),
        ...(maxWaitingRequests === undefined ? {} : { maxWaitingRequests }),
      };
      const queue = openQueue === undefined ? {} : { queue: openQueue() };
      const sender = createSender({ settings, network: 'allow-private', role, ...queue, ...slots });
      open.push(sender);
      return sender;
    };
    const ids = Object.keys(settings.applications);
    const given = Array.from({ length: scene.messages }, () => ids.map(messageFor)).flat();
    const filler = make(openQueue === undefined ? 'both' : 'enqueue');
    await filler.send(given);
    if (openQueue !== undefined) await filler.close();
    const startedAt = now();
    if (openQueue !== undefined) make('both');
    return await untilServed(receiver, { ...scene, startedAt });
  } finally {
    for (const sender of open) await sender.close({ deadlineMs: 0 });
    receiver.stop();
  }
}

async function untilServed(
  receiver: Receiver,
  { startedAt, applications, holes, holesFirst }: Scene & { readonly startedAt: number },
): Promise<Served> {
  while ((await receiver.ask<number>('served')) < applications - holes) await wait(5);
  // On their way before the others: at most the last of them may not have arrived yet.
  const awaited = holesFirst === true ? holes : 0;
  while ((await receiver.ask<number>('asked')) < awaited) await wait(5);
  const hanging = await receiver.ask<number>('hanging');
  const times = await receiver.ask<number[]>('times');
  return { firstMs: times.map((at) => at - startedAt).toSorted((a, b) => a - b), hanging };
}
