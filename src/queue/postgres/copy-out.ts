/** Reads rows by COPY, since `pg` decodes all other values as UTF-8, those of binary results too. */
import type { Connection, PoolClient, QueryConfig } from 'pg';
import type { ClaimedMessage, Format, Json } from '../queue.ts';
import { fromText } from '../stored-values.ts';

const ignore = (): void => {};

type Callback = (error: Error | null | undefined) => void;

/** The methods of a query that a client of `pg` calls, also one from another copy of the package. */
class CopyOut {
  readonly text: string;
  readonly query_timeout: number;
  callback: Callback;
  readonly chunks: Buffer[] = [];

  constructor(text: string, timeoutMs: number, callback: Callback) {
    this.text = text;
    this.query_timeout = timeoutMs;
    this.callback = callback;
  }

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    // The client uses its buffer again.
    this.chunks.push(Buffer.from(chunk));
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  readonly handleCommandComplete = ignore;
  readonly handleEmptyQuery = ignore;
  readonly handleRowDescription = ignore;
  readonly handleDataRow = ignore;
  readonly handlePortalSuspended = ignore;
}

export async function copyOut(
  client: PoolClient,
  text: string,
  timeoutMs: number,
): Promise<Buffer> {
  const chunks = await new Promise<Buffer[]>((resolve, reject) => {
    const query = new CopyOut(text, timeoutMs, (error) => {
      if (error === null || error === undefined) resolve(query.chunks);
      else reject(error);
    });
    void client.query(query as unknown as QueryConfig);
  });
  return Buffer.concat(chunks);
}

/** A binary COPY begins with a signature of 11 bytes, flags and an extension that is empty. */
const HEADER_BYTES = 19;

/**
 * Reads the columns of `claimed_messages`, and returns the messages of each claim. Each row begins with
 * their number, each column with its size.
 */
export function messagesOf(
  copied: Buffer,
  claims: readonly { readonly nowMs: number }[],
): ClaimedMessage[][] {
  let at = HEADER_BYTES;
  const next = (): number => {
    const size = copied.readInt32BE(at);
    at += 4 + size;
    return at - size;
  };
  const text = (): string => copied.toString('utf8', next(), at);
  const messages: ClaimedMessage[][] = claims.map(() => []);
  // The last row has -1 columns.
  while (copied.readInt16BE(at) > 0) {
    at += 2;
    const place = copied.readInt32BE(next()) - 1;
    const sequence = copied.readDoubleBE(next());
    const retryCount = copied.readInt32BE(next());
    const ageMs = (claims[place]?.nowMs ?? 0) - copied.readDoubleBE(next());
    const format = copied.readInt32BE(next()) as Format;
    const dateAt = copied.readInt32BE(next());
    const countAt = copied.readInt32BE(next());
    const messageId = fromText(text());
    const retryState = JSON.parse(text()) as Json;
    const bytes = copied.subarray(next(), at);
    const stored = { messageId, format, bytes, dateAt, countAt };
    messages[place]?.push({ sequence, stored, retryCount, ageMs, retryState });
  }
  return messages;
}
