/** OpenTelemetry logs: exports each record when it is emitted, without validation. */
import { closeSync, openSync, writeSync } from 'node:fs';

async function loggerTo(onRecord) {
  const { LoggerProvider, SimpleLogRecordProcessor } = await import('@opentelemetry/sdk-logs');
  const exporter = {
    export: (records, done) => {
      for (const record of records) onRecord(record);
      done({ code: 0 });
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger('bench');
  return {
    write: (record) =>
      logger.emit({ eventName: record.event_name, severityNumber: 9, body: record }),
    settle: () => provider.forceFlush(),
  };
}

const lineOf = ({ hrTime, eventName, severityNumber, body }) =>
  `${JSON.stringify({ timestamp: hrTime, eventName, severityNumber, body })}\n`;

/** Serialises each record to a line, like pino and winston, and counts it. */
export const openTelemetryToNothing = ({ write }) => loggerTo((record) => write(lineOf(record)));

/** Counts the records without serialising them. */
export const openTelemetryUnserialised = ({ write }) => loggerTo(() => write());

/** Writes each line synchronously to a file. */
export const openTelemetryToFile = async (path) => {
  const file = openSync(path, 'a');
  const logger = await loggerTo((record) => {
    writeSync(file, lineOf(record));
  });
  process.once('exit', () => closeSync(file));
  return logger;
};
