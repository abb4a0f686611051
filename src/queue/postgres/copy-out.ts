/** Reads one row by COPY: `pg` has no other way to bytes that are not encoded as text. */
import type { Connection, PoolClient, QueryConfig } from 'pg';

/** A signature of 11 bytes, flags and an extension that is empty. */
const HEADER_BYTES = 19;

type Callback = (error: Error | null | undefined) => void;

/** What a client of `pg` calls of a query, whichever copy of the package the client is from. */
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

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handlePortalSuspended(): void {}
}

/** The columns of the only row; `undefined` without a row. */
export async function copyOut(
  client: PoolClient,
  text: string,
  timeoutMs: number,
): Promise<Buffer[] | undefined> {
  const chunks = await new Promise<Buffer[]>((resolve, reject) => {
    const query = new CopyOut(text, timeoutMs, (error) => {
      if (error === null || error === undefined) resolve(query.chunks);
      else reject(error);
    });
    void client.query(query as unknown as QueryConfig);
  });
  return columnsOf(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
}

function columnsOf(bytes: Buffer): Buffer[] | undefined {
  const count = bytes.readInt16BE(HEADER_BYTES);
  if (count < 0) return undefined;
  let at = HEADER_BYTES + 2;
  return Array.from({ length: count }, () => {
    const start = at + 4;
    at = start + bytes.readInt32BE(at);
    return bytes.subarray(start, at);
  });
}
