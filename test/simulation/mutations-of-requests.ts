/** Bugs in what is sent. */
import type { Mutation } from './mutation.ts';

const FOLDER = 'delivery';
const QUEUE = 'queue/memory';

export const REQUEST_MUTATIONS: readonly Mutation[] = [
  {
    name: 'retry_count is always 0',
    file: `${FOLDER}/attempt.ts`,
    from: 'encodeBody(messages,',
    to: 'encodeBody(messages.map((message) => ({ ...message, sends: 0 })),',
    by: 'retry-count',
    withinSeeds: 5,
  },
  {
    name: 'date_created is of another clock',
    file: `${FOLDER}/attempt.ts`,
    from: 'formatTimestamp(clock.now())',
    to: 'formatTimestamp(clock.monotonicMs())',
    by: 'date-created',
    withinSeeds: 5,
  },
  {
    name: 'the signature leaves out a byte',
    file: `${FOLDER}/attempt.ts`,
    from: 'sign(body, secret)',
    to: 'sign(body.subarray(1), secret)',
    by: 'signature',
    withinSeeds: 5,
  },
  {
    name: 'a request has its messages in another order',
    file: `${FOLDER}/attempt.ts`,
    from: 'const body = encodeBody(messages',
    to: 'const body = encodeBody(messages.toReversed()',
    by: 'claimed-messages',
    withinSeeds: 20,
  },
  {
    name: 'a request goes to the root of its receiver',
    file: `${FOLDER}/attempt.ts`,
    from: 'poster.post({ url, body',
    to: 'poster.post({ url: new URL(url.origin), body',
    by: 'destination',
    withinSeeds: 5,
  },
  {
    name: 'a secret that is a function counts as none',
    file: `${FOLDER}/destination.ts`,
    from: 'secret === undefined) return',
    to: "typeof application.secret === 'function') return",
    by: 'missing',
    withinSeeds: 20,
  },
  {
    name: 'text waits as ASCII',
    file: `${QUEUE}/waiting-messages.ts`,
    from: "bytes.toString('latin1')",
    to: "bytes.toString('ascii')",
    by: 'message-id',
    withinSeeds: 20,
  },
  {
    name: 'formats are mixed in a request',
    file: `${QUEUE}/waiting-messages.ts`,
    from: 'next.format === messages[0]?.format',
    to: 'next.format !== undefined',
    by: 'one-kind',
    withinSeeds: 300,
  },
  {
    name: 'a request has one message too many',
    file: `${QUEUE}/waiting-messages.ts`,
    from: 'messages.length < maxMessages',
    to: 'messages.length <= maxMessages',
    by: 'request-limits',
    withinSeeds: 20,
  },
  {
    name: 'of the bytes of a request only the last message counts',
    file: `${QUEUE}/waiting-messages.ts`,
    from: 'sizeBytes + next.sizeBytes <= maxBytes',
    to: 'next.sizeBytes <= maxBytes',
    by: 'request-limits',
    withinSeeds: 50,
  },
  {
    name: 'an application that is claimed is claimed again',
    file: `${QUEUE}/memory-queue.ts`,
    from: 'schedule.update(application, at.nowMs);\n    return claim;',
    to: 'return claim;',
    by: 'one-in-flight',
    withinSeeds: 50,
  },
  {
    name: 'a claim does not count as a sending',
    file: `${QUEUE}/waiting-messages.ts`,
    from: 'next.sends += 1;',
    to: '',
    by: 'ledger',
    withinSeeds: 5,
  },
];
