/** Reads a request, completely or as far as its step says. */
import type { IncomingMessage } from 'node:http';
import type { Step } from './step.ts';

export interface Reading {
  readonly body: Buffer;
  /** Whether the request was read to its end. */
  readonly isWhole: boolean;
}

/** Returns the number of bytes after which reading stops; negative: nothing is read. */
export function longestBody(step: Step | undefined, incoming: IncomingMessage): number {
  if (step === undefined || !('fault' in step)) return Number.POSITIVE_INFINITY;
  if (step.fault === 'reset-during-body') return (step.afterBytes ?? 1) - 1;
  if (step.fault !== 'body-limit') return Number.POSITIVE_INFINITY;
  const announced = Number(incoming.headers['content-length'] ?? 0);
  return announced > step.maxBytes ? -1 : step.maxBytes;
}

/** Resolves to `undefined` if the sender goes away. */
export function readUpTo(
  incoming: IncomingMessage,
  maxBytes: number,
): Promise<Reading | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (isWhole: boolean): void => {
      incoming.off('data', take);
      incoming.pause();
      resolve({ body: Buffer.concat(chunks), isWhole });
    };
    const take = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) finish(false);
    };
    incoming.on('error', () => {});
    incoming.once('close', () => resolve(undefined));
    incoming.once('end', () => finish(true));
    incoming.on('data', take);
    if (maxBytes < 0) finish(false);
  });
}
