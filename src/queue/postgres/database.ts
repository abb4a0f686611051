/** Calls of the schema's functions: arguments, timeouts and errors. */
import type { Client, PoolClient, QueryConfig } from 'pg';
import { untraced } from '../../runtime/untraced.ts';
import type { Durability } from '../queue.ts';
import { copyOut } from './copy-out.ts';
import { failure, isRetryable } from './failure.ts';
import type { ReadOptions } from './options.ts';
import { durabilityOf, quoted, readSettings, type Settings } from './schema.ts';
import { Servers, type ServersParts } from './servers.ts';

/** Maximum number of tries of a call. It is tried again only if it changed nothing on the server. */
const MAX_TRIES = 4;

/** The server shortens longer names of prepared statements, so that two could become the same. */
const MAX_NAME = 63;

/** Rows in one transaction of `callInPages`. */
const PAGE = 1000;

/** A row with JSON, or null. */
interface Answer {
  readonly answer: string | null;
}

interface CallOptions {
  readonly content?: Buffer;
  /** Default `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

export class Database {
  readonly #options: ReadOptions;
  readonly #servers: Servers;
  #durability: Durability = 'process-crash';

  constructor(options: ReadOptions, parts: ServersParts) {
    this.#options = options;
    this.#servers = new Servers(options, parts, async (client) => {
      this.noteSettings(await readSettings(client, options));
    });
  }

  /** Depends on the settings of the server, as last read; before that, the lowest. */
  get durability(): Durability {
    return this.#durability;
  }

  noteSettings(settings: Settings): void {
    this.#durability = durabilityOf(settings);
  }

  /** Creates a connection for LISTEN. See `newClient` of {@link Servers}. */
  newClient(): Client | undefined {
    return this.#servers.newClient();
  }

  async call(name: string, args: object = {}, options: CallOptions = {}): Promise<unknown> {
    const placeholders = options.content === undefined ? '$1::json' : '$1::json, $2::bytea';
    const text = `select ${this.#nameOf(name)}(${placeholders})::text as answer`;
    const [row] = await this.#query(name, text, { ...options, args });
    // The answer of a `void` function is an empty text.
    return row?.answer ? (JSON.parse(row.answer) as unknown) : undefined;
  }

  /** Calls a function that returns rows. Their columns have the names of the fields of `T`. */
  async rows<T>(name: string, args: object = {}): Promise<T[]> {
    const text = `select to_json(r)::text as answer from ${this.#nameOf(name)}($1::json) r`;
    const rows = await this.#query(name, text, { args });
    return rows.map(({ answer }) => JSON.parse(String(answer)) as T);
  }

  async copy(name: string, args: string, timeoutMs: number): Promise<Buffer> {
    const text = `copy (select * from ${this.#nameOf(name)}(${args})) to stdout (format binary)`;
    return await this.#run((client, remainingMs) => copyOut(client, text, remainingMs), timeoutMs);
  }

  /** Calls a function page by page, each in its own transaction. Returns the sum of their counts. */
  async callInPages(name: string, args: object): Promise<number> {
    let sum = 0;
    for (let page: object | null = {}; page !== null; ) {
      const answer = await this.call(name, { ...args, ...page, limit: PAGE });
      const { count, next } = answer as { readonly count: number; readonly next: object | null };
      sum += count;
      page = next;
    }
    return sum;
  }

  /** Rejects if no server that takes writes can be reached, or the schema does not fit. */
  async connect(): Promise<void> {
    await this.#run(() => Promise.resolve());
  }

  async end(): Promise<void> {
    await this.#servers.end();
  }

  #nameOf(name: string): string {
    return `${quoted(this.#options.schema)}.${name}`;
  }

  async #query(
    name: string,
    text: string,
    { args, content, timeoutMs }: CallOptions & { readonly args: object },
  ): Promise<Answer[]> {
    const { schema, transactionPooling } = this.#options;
    const prepared = `${schema}.${name}`;
    const isPrepared = !transactionPooling && prepared.length <= MAX_NAME;
    const config: QueryConfig = {
      text,
      values: [JSON.stringify(args), ...(content === undefined ? [] : [content])],
      ...(isPrepared ? { name: prepared } : {}),
    };
    return await this.#run(async (client, remainingMs) => {
      // The client reads this option, but its types lack it. Not set for the pool, which can be the caller's.
      const timed = { ...config, query_timeout: remainingMs } as QueryConfig;
      return (await client.query<Answer>(timed)).rows;
    }, timeoutMs);
  }

  async #run<T>(
    work: (client: PoolClient, remainingMs: number) => Promise<T>,
    timeoutMs = this.#options.callTimeoutMs,
  ): Promise<T> {
    const endsAt = this.#servers.monotonicMs() + timeoutMs;
    for (let tries = 1; ; tries += 1) {
      try {
        const leftMs = endsAt - this.#servers.monotonicMs();
        return await this.#servers.withClient(leftMs, (client, remainingMs) =>
          untraced(() => work(client, remainingMs)),
        );
      } catch (error) {
        if (!isRetryable(error) || tries === MAX_TRIES) throw failure(error);
      }
    }
  }
}
