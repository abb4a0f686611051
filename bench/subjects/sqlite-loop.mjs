/**
 * The rival of the SQLite queue: a bare loop in a worker that stores as many messages per transaction, each
 * on the disk before the next one. It validates nothing, counts nothing and has one small table.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const MESSAGE_BYTES = 700;
const CHECKPOINT_MESSAGES = 8000;

/** Stores one message per caller in each transaction. */
export const looping = (callers) => async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-loop-'));
  const file = join(folder, 'loop.db');
  const worker = new Worker(new URL(import.meta.url), { workerData: { file, callers } });
  const request = (count) =>
    new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', resolve);
      worker.postMessage(count, []);
    });
  let stored = 0;
  await request(callers);
  return {
    run: async (count) => {
      stored = await request(count);
    },
    check: (count) => {
      if (stored < count) throw new Error(`${stored} messages, not ${count}`);
    },
    close: async () => {
      await worker.terminate();
      rmSync(folder, { recursive: true });
    },
  };
};

/** Returns the SQLite module that the queue uses. */
function engine() {
  const builtin = process.getBuiltinModule('node:sqlite');
  const hasFixed = Number(process.versions.sqlite?.split('.')[1] ?? 0) > 51;
  return builtin && hasFixed ? builtin : createRequire(import.meta.url)('@photostructure/sqlite');
}

function store({ file, callers }) {
  const database = new (engine().DatabaseSync)(file);
  database.exec('pragma journal_mode = wal; pragma synchronous = full');
  database.exec('pragma wal_autocheckpoint = 0');
  database.exec('create table message (sequence integer primary key, due integer, body blob)');
  const [begin, insert, commit] = [
    'begin immediate',
    'insert into message (due, body) values (?, ?)',
    'commit',
  ].map((sql) => database.prepare(sql));
  const body = Buffer.alloc(MESSAGE_BYTES, 'x');
  let waiting = 0;
  parentPort.on('message', (count) => {
    let stored = 0;
    while (stored < count) {
      begin.run();
      for (let one = 0; one < callers; one += 1) insert.run(stored + one, body);
      commit.run();
      stored += callers;
      waiting += callers;
      if (waiting < CHECKPOINT_MESSAGES) continue;
      waiting = 0;
      database.exec('pragma wal_checkpoint(passive)');
    }
    parentPort.postMessage(stored, []);
  });
}

if (!isMainThread && workerData?.file !== undefined) store(workerData);
