/** OpenTelemetry's logs, each record exported by itself as it is emitted. Nothing of it checks the record. */
import { closeSync, openSync, writeSync } from 'node:fs';

async function loggerTo(take) {
  const { LoggerProvider, SimpleLogRecordProcessor } = await import('@opentelemetry/sdk-logs');
  const exporter = {
    export: (records, done) => {
      for (const record of records) take(record);
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

/** A line is made of each, as pino and winston make one, and given to what counts. */
export const openTelemetryToNothing = ({ write }) => loggerTo((record) => write(lineOf(record)));

/** The exporter counts objects: nothing is made of them. */
export const openTelemetryUnserialised = ({ write }) => loggerTo(() => write());

/** The line is in the file when the export is over. */
export const openTelemetryToFile = async (path) => {
  const file = openSync(path, 'a');
  const logger = await loggerTo((record) => {
    writeSync(file, lineOf(record));
  });
  process.once('exit', () => closeSync(file));
  return logger;
};
