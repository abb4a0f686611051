/** Reads rows by COPY: `pg` has no other way to bytes that are not encoded as text. */
import type { Connection, PoolClient, QueryConfig } from 'pg';

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

/** Returns what a COPY sends. */
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
