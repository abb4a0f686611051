/** The growing sizes, and the metrics measured at each point. */

export type Metric = 'messagesPerSecond' | 'latencyMs' | 'peakMegabytes';

export interface Point extends Readonly<Record<Metric, number>> {
  readonly size: number;
}

export interface Axis {
  readonly name: 'message size' | 'batch size' | 'destinations' | 'black holes' | 'backlog';
  /** Title of the plot, with the unit. */
  readonly label: string;
  readonly scale: 'log' | 'linear';
  readonly sizes: readonly number[];
  readonly work: string;
  /** Name of the time that must not grow faster than `size`. It is that of `messagesIn(size)` messages. */
  readonly time: string;
  readonly messagesIn: (size: number) => number;
}

const BY_TENS = [1, 10, 100, 1000];

export const AXES: readonly Axis[] = [
  {
    name: 'message size',
    label: 'bytes of text in a message',
    scale: 'log',
    sizes: [100, 1000, 10_000, 100_000],
    work: '1000 messages at a time to one destination, until all are delivered; latency: one message',
    time: 'time of a message',
    messagesIn: () => 1,
  },
  {
    name: 'batch size',
    label: 'messages in a request',
    scale: 'log',
    sizes: BY_TENS,
    work: 'the same with smaller requests (`maxMessages`); latency: one full request',
    time: 'time of a request',
    messagesIn: (size) => size,
  },
  {
    name: 'destinations',
    label: 'destinations',
    scale: 'log',
    sizes: [...BY_TENS, 10_000],
    work: '10,000 messages at a time, spread evenly over destinations with an address each, until all are delivered; latency: one message to one of them',
    time: 'time of 10,000 messages',
    messagesIn: () => 10_000,
  },
  {
    name: 'black holes',
    label: 'applications that never answer',
    scale: 'log',
    sizes: BY_TENS,
    work: 'one message for each of 10,000 applications, some of which never answer, until all others have theirs; latency: the 99th percentile from `send` to arrival',
    time: 'time of all messages',
    messagesIn: () => 1,
  },
  {
    name: 'backlog',
    label: 'messages that wait in the file',
    scale: 'linear',
    sizes: [0, 100_000, 300_000, 1_000_000],
    work: 'the queue in an SQLite file, without a sender: 1000 messages come in and 1000 go out, beside what waits; latency: one comes in and one goes out',
    time: 'time of a message',
    messagesIn: () => 1,
  },
];

export function axisNamed(wanted: Axis['name']): Axis {
  const found = AXES.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no axis ${wanted}`);
  return found;
}
