/** Consumers of a server that answers as a test tells. */
import type {
  ConsumerInfo,
  Manager,
  Nats,
  NatsHeaders,
  NatsMessage,
} from '../../../src/queue/jetstream/nats.ts';
import { TOLD } from '../../../src/queue/jetstream/store.ts';

export const headersOf = (
  code: number,
  lines: Readonly<Record<string, string>> = {},
): NatsHeaders => ({
  code,
  get: (name) => lines[name] ?? '',
  set: () => {},
});

export type Callback = (error: Error | null, message: NatsMessage) => void;

/** The consumers that are made, in their order, each to be answered by the test. */
export class Consumers {
  readonly made: { readonly inbox: string; readonly answer: (info: ConsumerInfo) => void }[] = [];
  readonly #callbacks = new Map<string, Callback>();

  readonly nats = {
    isClosed: () => false,
    publish: () => {},
    subscribe: (inbox: string, { callback }: { readonly callback: Callback }) => {
      this.#callbacks.set(inbox, callback);
      return { unsubscribe: () => {} };
    },
  } as unknown as Nats;

  readonly manager = {
    consumers: {
      add: (_: string, config: { readonly deliver_subject: string }) =>
        new Promise<ConsumerInfo>((answer) => {
          this.made.push({ inbox: config.deliver_subject, answer });
        }),
      delete: () => Promise.resolve(true),
    },
  } as unknown as Manager;

  #send(message: Partial<NatsMessage>, index = -1): void {
    const { inbox } = this.made.at(index) as { readonly inbox: string };
    const whole = { subject: 's', data: new Uint8Array(), ...message };
    this.#callbacks.get(inbox)?.(null, whole);
  }

  /** What is told of each message. */
  told = '';

  /** Of the consumer that was made last, or at `index`. */
  message(sequence: number, number: number, pending: number, index?: number): void {
    const headers = headersOf(0, { [TOLD]: this.told });
    this.#send({ headers, reply: `$JS.ACK.s.c.1.${sequence}.${number}.0.${pending}` }, index);
  }

  heartbeat(last: number, stalled = ''): void {
    const lines = { 'Nats-Last-Consumer': `${last}`, 'Nats-Consumer-Stalled': stalled };
    this.#send({ headers: headersOf(100, lines) });
  }
}

export const untilMade = async ({ made }: Consumers, count: number): Promise<void> => {
  while (made.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
};
