/**
 * The rival of the PostgreSQL queue: binary COPY into a table without an index, and out of it, on one
 * connection. `run.ts` starts the server.
 */
import pg from 'pg';

/** The connection: a config object of pg. */
const connection = JSON.parse(process.env.BENCH_POSTGRES ?? 'null');

async function withClient(work) {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

let schemas = 0;

/** Returns the name of a new schema. `remove` drops it. */
export async function newSchema() {
  schemas += 1;
  const schema = `bench_${process.pid}_${schemas}`;
  const remove = () => withClient((client) => client.query(`drop schema ${schema} cascade`));
  return { connection, schema, remove };
}

/** Implements COPY, for which `pg` has the protocol messages but no function. */
class Copy extends pg.Query {
  constructor(text, { input, onChunk = () => {}, onEnd }) {
    super({ text }, (error) => onEnd(error));
    this.input = input;
    this.onChunk = onChunk;
  }

  handleCopyInResponse(link) {
    link.sendCopyFromChunk(this.input);
    link.endCopyFrom();
  }

  handleCopyData({ chunk }) {
    this.onChunk(chunk);
  }
}

const copy = (client, text, parts) =>
  new Promise((resolve, reject) => {
    const onEnd = (error) => (error ? reject(error) : resolve());
    client.query(new Copy(text, { ...parts, onEnd }));
  });

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const END = Buffer.from([0xff, 0xff]);

const field = (bytes) => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return [length, bytes];
};

const rowOf = ({ applicationId, stored }) => [
  Buffer.from([0, 3]),
  ...field(Buffer.from(applicationId)),
  ...field(Buffer.from(stored.messageId)),
  ...field(stored.bytes),
];

async function openTable() {
  const client = new pg.Client(connection);
  await client.connect();
  const table = `bench_copy_${process.pid}`;
  await client.query(`create table ${table} (application text, id text, bytes bytea)`);
  const enter = (entries) => {
    const input = Buffer.concat([SIGNATURE, ...entries.flatMap(rowOf), END]);
    return copy(client, `copy ${table} from stdin (format binary)`, { input });
  };
  const close = async () => {
    await client.query(`drop table ${table}`);
    await client.end();
  };
  return { client, table, enter, close };
}

/** Copies this many messages at a time, with a commit for each. `entries` makes them. */
export const copying = (entries, together) => async () => {
  const { client, table, enter, close } = await openTable();
  let messages = [];
  return {
    prepare: (count) => {
      messages = entries(count);
    },
    warmUp: async () => {
      await enter(entries(1000));
      await client.query(`truncate ${table}`);
    },
    run: async () => {
      for (let at = 0; at < messages.length; at += together) {
        await enter(messages.slice(at, at + together));
      }
    },
    check: async (count) => {
      const { rows } = await client.query(`select count(*)::integer from ${table}`);
      if (rows[0].count !== count) throw new Error(`${rows[0].count} rows, not ${count}`);
    },
    close,
  };
};

/** Reads all rows of the table. */
export const copyingOut = (entries) => async () => {
  const { client, table, enter, close } = await openTable();
  let chunks = 0;
  const onChunk = () => {
    chunks += 1;
  };
  return {
    prepare: async (count) => {
      for (let left = count; left > 0; left -= 1000) await enter(entries(Math.min(1000, left)));
    },
    run: () => copy(client, `copy ${table} to stdout (format binary)`, { onChunk }),
    check: (count) => {
      // One more chunk ends the data.
      if (chunks !== count + 1) throw new Error(`${chunks} chunks, not ${count + 1}`);
    },
    close,
  };
};
