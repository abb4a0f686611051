import { expect, test, vi } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { smallRecord } from '../helpers/log-records.ts';

/**
 * What a tracer's instrumentation does to pino when it is loaded: every logger made later gets a
 * mixin, and its stream is wrapped so that lines are read.
 */
const readByTracer = vi.hoisted((): string[] => []);

vi.mock('pino', async (importOriginal) => {
  const { pino } = await importOriginal<typeof import('pino')>();
  const instrumented = (
    options: import('pino').LoggerOptions,
    stream: { write(s: string): void },
  ) =>
    pino(
      { ...options, mixin: () => ({ trace_id: 'of the tracer', span_id: 's', payload: 'lost' }) },
      pino.multistream([{ stream }, { stream: { write: (line) => readByTracer.push(line) } }]),
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
  expect(readByTracer).toEqual(lines);
});
