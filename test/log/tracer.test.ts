import { expect, onTestFinished, test, vi } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { smallRecord } from '../helpers/log-records.ts';

/**
 * What a tracer's instrumentation does to pino when it is loaded: every logger made later gets a
 * mixin, and its stream is wrapped so that lines are read.
 */
const tracer = vi.hoisted(() => ({
  lines: [] as string[],
  keepsBack: false,
  onMixin: (): void => {},
  onLine: (): void => {},
}));

vi.mock('pino', async (importOriginal) => {
  const { pino } = await importOriginal<typeof import('pino')>();
  const instrumented = (
    options: import('pino').LoggerOptions,
    stream: { write(s: string): void },
  ) =>
    pino(
      {
        ...options,
        mixin: () => {
          tracer.onMixin();
          return { trace_id: 'of the tracer', span_id: 's', payload: 'lost' };
        },
      },
      pino.multistream([
        { stream: { write: (line) => tracer.keepsBack || stream.write(line) } },
        {
          stream: {
            write: (line) => {
              tracer.lines.push(line);
              tracer.onLine();
            },
          },
        },
      ]),
    );
  return { pino: instrumented };
});

test('keys that a tracer adds to every pino stand beside the record, each once', () => {
  const lines: string[] = [];
  const writer = createLogWriter({
    destination: { write: (line: string) => lines.push(line) },
    platform: () => ({ trace_id: 'of the function' }),
  });
  writer.write(smallRecord());
  const line = lines[0] ?? '';
  expect(JSON.parse(line)).toEqual({
    ...smallRecord(),
    trace_id: 'of the function',
    span_id: 's',
  });
  expect(line.match(/"(?:trace_id|payload)":/g)).toHaveLength(2);
  expect(tracer.lines).toEqual(lines);
});

test('they do so where nothing has to be added to the record, which is written the quick way', () => {
  const lines: string[] = [];
  const writer = createLogWriter({ destination: { write: (line: string) => lines.push(line) } });
  tracer.lines.length = 0;
  writer.write(smallRecord('\u2028 "quoted"'));
  const line = lines[0] ?? '';
  expect(JSON.parse(line)).toEqual({
    ...smallRecord('\u2028 "quoted"'),
    trace_id: 'of the tracer',
    span_id: 's',
  });
  expect(line.match(/"(?:trace_id|payload)":/g)).toHaveLength(2);
  expect(line.endsWith('}\n')).toBe(true);
  expect(tracer.lines).toEqual(lines);
});

test('a line that a tracer keeps back is a failure, not the line before it once more', () => {
  const lines: string[] = [];
  const writer = createLogWriter({ destination: { write: (line: string) => lines.push(line) } });
  writer.write(smallRecord('one'));
  tracer.keepsBack = true;
  onTestFinished(() => {
    tracer.keepsBack = false;
  });
  expect(() => writer.write(smallRecord('two'))).toThrow(
    expect.objectContaining({
      code: 'ERR_WRITE_FAILED',
      cause: expect.objectContaining({ message: 'pino made no line' }) as Error,
    }) as Error,
  );
  expect(lines).toHaveLength(1);
  expect(writer.stats()).toMatchObject({ written: 1, failed: 1 });
});

test.each(['onMixin', 'onLine'] as const)(
  'a record that a hook of the tracer writes meanwhile (%s) costs none and doubles none',
  (hook) => {
    const lines: string[] = [];
    const writer = createLogWriter({ destination: { write: (line: string) => lines.push(line) } });
    const rest = ['inner'];
    tracer[hook] = () => {
      const name = rest.pop();
      if (name !== undefined) writer.write(smallRecord(name));
    };
    onTestFinished(() => {
      tracer[hook] = () => {};
    });
    writer.write(smallRecord('outer'));
    const due = ['inner', 'outer'].map((name) => expect.objectContaining(smallRecord(name)));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(due);
  },
);
