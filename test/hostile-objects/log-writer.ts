/** The cases of `createLogWriter`. */
import { createLogWriter, type LogWriter, type LogWriterOptions } from '../../src/index.ts';
import { RECORDS } from '../contract/samples.ts';
import { customRecord } from '../helpers/log-records.ts';
import { plain, throughout, withGaps, withZod } from './law.ts';

const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const activeSpan = () => ({ ...ids, traceFlags: 1 });
const CUSTOM = customRecord({ list: [1, { nested: [] }], text: 'a', none: null, odd: '\ud800' });
const PLATFORMS: readonly LogWriterOptions[] = [
  {},
  { platform: 'otel', activeSpan },
  { platform: 'datadog', activeSpan },
  { platform: 'ecs' },
  { platform: 'auto' },
  { platform: () => ({ odd: '\ud800', list: ['\ud800'] }) },
];
const lines: string[] = [];
const destination = { write: (line: string) => void lines.push(line) };
const make = (options: LogWriterOptions) => createLogWriter({ destination, ...options });

const written = (writers: readonly LogWriter[], records: readonly unknown[]) => {
  lines.length = 0;
  for (const writer of writers) for (const record of records) writer.write(record as never);
  return lines.splice(0);
};
const makeAll = () => PLATFORMS.map(make);
const ofAnyPlatform = makeAll();
const RECORDS_OF_ALL = [RECORDS.attack, CUSTOM];
const checking = make({});
const toClose = make({ sync: false });

/** pino copies its levels by `for … in`, and asks for a stream's properties by name. */
const OF_PINO = 'level msgPrefix';

export const LOG_WRITER_CASES = [
  withGaps(withZod(plain('', (during) => written(during(makeAll), RECORDS_OF_ALL))), OF_PINO),
  throughout('with an unknown option', () => make({ evil: 1 } as never)),
  throughout('with an invalid option', () => make({ maxBufferBytes: -1 })),
  withZod(throughout('writing', () => written(ofAnyPlatform, RECORDS_OF_ALL))),
  withZod(throughout('writing no record', () => checking.write({} as never))),
  throughout('counting and flushing', async () => [await toClose.stats(), await toClose.flush()]),
];
