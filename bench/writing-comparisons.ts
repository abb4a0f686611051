/** The rows of writing log records. */
import { type Comparison, side } from './comparison.ts';

/** Common to all rows. */
const writing = {
  subject: new URL('./subjects/write.mjs', import.meta.url),
  operations: 50_000,
  unit: 'µs per record',
} as const;

const WRITER = side('writer', 'ours to nothing');
const FILE_WRITER = side('writer', 'ours to a file');
const BUFFERED_WRITER = side('writer, `sync: false`', 'ours later to a file');
const PINO_TO_FILE = side('pino, `sync: true`', 'pino to a file');
const WINSTON_TO_FILE = side('winston', 'winston to a file');

const toNothing: readonly Comparison[] = [
  {
    ...writing,
    name: 'write-pino',
    work: 'validate and write a record to nothing, beside bare pino',
    ours: WRITER,
    rival: side('pino', 'pino to nothing'),
    goal: { ratio: 1 },
  },
  {
    ...writing,
    name: 'write-winston',
    work: 'the same beside winston',
    ours: WRITER,
    rival: side('winston', 'winston to nothing'),
    goal: { ratio: 0.5 },
  },
  {
    ...writing,
    name: 'write-otel',
    work: 'the same beside OpenTelemetry logs, whose exporter makes a line of each record',
    ours: WRITER,
    rival: side('OpenTelemetry', 'OpenTelemetry to nothing'),
    goal: { ratio: 0.75 },
  },
  {
    ...writing,
    name: 'write-otel-object',
    work: 'the same beside OpenTelemetry logs, whose exporter counts objects: nothing is serialised',
    ours: WRITER,
    rival: side('OpenTelemetry, no lines', 'OpenTelemetry, unserialised'),
  },
];

const toFile: readonly Comparison[] = [
  {
    ...writing,
    name: 'file-pino',
    work: 'validate and write a record to a file, synchronously',
    ours: FILE_WRITER,
    rival: PINO_TO_FILE,
    goal: { ratio: 1 },
  },
  {
    ...writing,
    name: 'file-winston',
    work: 'the same beside winston, which has it in the file later',
    ours: FILE_WRITER,
    rival: WINSTON_TO_FILE,
    goal: { ratio: 0.5 },
  },
  {
    ...writing,
    name: 'file-otel',
    work: 'the same beside OpenTelemetry logs, whose exporter writes synchronously',
    ours: FILE_WRITER,
    rival: side('OpenTelemetry', 'OpenTelemetry to a file'),
    goal: { ratio: 0.75 },
  },
  {
    ...writing,
    name: 'file-later-pino',
    work: 'validate and write a record to a file in the background',
    ours: BUFFERED_WRITER,
    rival: side('pino, `sync: false`', 'pino later to a file'),
  },
  {
    ...writing,
    name: 'file-later-winston',
    work: 'the same beside winston',
    ours: BUFFERED_WRITER,
    rival: WINSTON_TO_FILE,
  },
];

const REPORTING = new URL('./subjects/report.mjs', import.meta.url);

const reporting: Comparison = {
  name: 'report-pino',
  work: '`reporter.attack` in a captured request, record and message, beside a bare pino line of the record',
  subject: REPORTING,
  // The garbage collection before the timed part lets V8 discard code that it compiled for our classes. It
  // takes about 20,000 events to compile it again. That happens once per process, so the sample is larger.
  operations: 100_000,
  unit: 'µs per event',
  ours: side('reporter', 'reporter in a request'),
  rival: side('pino', 'bare pino line'),
  goal: { cpuRatio: 2.5 },
};

const reportingAlone: Comparison = {
  ...reporting,
  name: 'report-alone',
  work: 'the same with one event in each turn of the event loop',
  operations: 50_000,
  ours: side('reporter', 'reporter, an event a turn'),
  rival: side('pino', 'bare pino line, one a turn'),
  goal: { cpuRatio: 8 },
};

const FIRST_EVENT_RUNS = 21;

const firstEvent: Comparison = {
  ...reporting,
  name: 'first-event',
  work: 'the first call of `reporter.attack` in a process, beside the first line of pino',
  operations: 1,
  runs: FIRST_EVENT_RUNS,
  unit: 'ms',
  ours: side('reporter', 'reporter, the first event'),
  rival: side('pino', 'bare pino line, the first'),
  goal: { value: 3 },
};

export const WRITING_COMPARISONS: readonly Comparison[] = [
  ...toNothing,
  ...toFile,
  reporting,
  reportingAlone,
  firstEvent,
];
