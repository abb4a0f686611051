/**
 * Writes one log record repeatedly. Every side gets the same object, yields to the event loop equally
 * often, and is timed until its last line has arrived.
 */
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { attackRecord } from './inputs.mjs';
import {
  openTelemetryToFile,
  openTelemetryToNothing,
  openTelemetryUnserialised,
} from './open-telemetry.mjs';

const WARM_UP_RECORDS = 20_000;
/** Yields to the event loop like hosts do: winston keeps a callback per line until then. */
const RECORDS_PER_TURN = 100;

/**
 * `open` returns `{ write, settle? }`. `settle` waits until the records of this run have arrived.
 * `arrived` returns the number of lines that arrived.
 */
async function writing(open, { arrived, close }) {
  const record = attackRecord();
  const { write, settle } = await open();
  const run = async (count) => {
    for (let done = 0; done < count; done += 1) {
      if (done % RECORDS_PER_TURN === 0) await turn();
      write(record);
    }
    await settle?.(count);
  };
  return {
    warmUp: () => run(WARM_UP_RECORDS),
    run,
    check: (count) => {
      const expected = WARM_UP_RECORDS + count;
      const found = arrived();
      if (found !== expected) throw new Error(`${found} lines arrived of ${expected}`);
    },
    close,
  };
}

/** A destination that only counts, so that the engine cannot remove the line. */
function toNothing(open) {
  let lines = 0;
  const destination = {
    write: () => {
      lines += 1;
      return true;
    },
  };
  return writing(() => open(destination), { arrived: () => lines });
}

function toFile(open) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const path = join(folder, 'records.log');
  return writing(() => open(path), {
    arrived: () => countLines(path),
    close: () => rmSync(folder, { recursive: true }),
  });
}

function countLines(path) {
  const chunk = Buffer.alloc(1 << 20);
  const fd = openSync(path, 'r');
  let lines = 0;
  for (let left = statSync(path).size; left > 0; ) {
    const count = readSync(fd, chunk, 0, chunk.length);
    for (let at = chunk.indexOf(10); at !== -1 && at < count; at = chunk.indexOf(10, at + 1)) {
      lines += 1;
    }
    left -= count;
  }
  closeSync(fd);
  return lines;
}

const ours = (options) => async (destination) => {
  const { createLogWriter } = await import('security-event-delivery');
  const writer = createLogWriter({ destination, ...options });
  return {
    write: (record) => writer.write(record),
    // `flush` would also sync the disk, which no rival does.
    settle: async () => {
      while ((await writer.stats()).pending > 0) await turn();
    },
  };
};

const pinoTo = (makeStream) => async (destination) => {
  const { pino } = await import('pino');
  const stream = makeStream(pino, destination);
  const logger = pino({}, stream);
  return {
    write: (record) => logger.info(record),
    settle: stream.sync === false ? () => once(stream, 'drain') : undefined,
  };
};

const pinoFile = (sync) => pinoTo((pino, dest) => pino.destination({ dest, sync }));

async function winstonLogger(makeTransport) {
  const { default: winston } = await import('winston');
  return winston.createLogger({
    format: winston.format.json(),
    transports: [makeTransport(winston.transports)],
  });
}

const winstonStream = async ({ write }) => {
  const stream = new Writable({
    decodeStrings: false,
    write: (_line, _encoding, done) => {
      write();
      done();
    },
  });
  const logger = await winstonLogger(({ Stream }) => new Stream({ stream }));
  return { write: (record) => logger.info(record) };
};

/** winston flushes only at its end, so the warm-up and the timed part have separate loggers. */
const winstonFile = async (filename) => {
  const open = async () => {
    const logger = await winstonLogger(({ File }) => new File({ filename }));
    const current = { logger, logged: 0 };
    logger.transports[0].on('logged', () => {
      current.logged += 1;
    });
    return current;
  };
  let current = await open();
  return {
    write: (record) => current.logger.info(record),
    settle: async (count) => {
      // Ending it earlier fails, because it would write lines to an ended transport.
      while (current.logged < count) await turn();
      current.logger.end();
      await once(current.logger, 'finish');
      current = await open();
    },
  };
};

export const sides = {
  'ours to nothing': () => toNothing(ours({})),
  'pino to nothing': () => toNothing(pinoTo((_pino, stream) => stream)),
  'winston to nothing': () => toNothing(winstonStream),
  'ours to a file': () => toFile(ours({})),
  'ours later to a file': () => toFile(ours({ sync: false })),
  'pino to a file': () => toFile(pinoFile(true)),
  'pino later to a file': () => toFile(pinoFile(false)),
  'winston to a file': () => toFile(winstonFile),
  'OpenTelemetry to nothing': () => toNothing(openTelemetryToNothing),
  'OpenTelemetry, unserialised': () => toNothing(openTelemetryUnserialised),
  'OpenTelemetry to a file': () => toFile(openTelemetryToFile),
};
