import { expect, onTestFinished, test, vi } from 'vitest';
import { keptLines, smallRecord } from '../helpers/log-records.ts';

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

test.each([
  ['of the function', { platform: () => ({ trace_id: 'of the function' }) }],
  ['of the tracer', {}],
])(
  'a line has the keys that a tracer adds to every logger, once: trace id %s',
  (trace_id, options) => {
    const { lines, writer } = keptLines(options);
    tracer.lines.length = 0;
    const record = smallRecord('\u2028 "quoted"');
    writer.write(record);
    const line = lines[0] ?? '';
    expect(JSON.parse(line)).toEqual({ ...record, trace_id, span_id: 's' });
    expect(line.match(/"(?:trace_id|payload)":/g)).toHaveLength(2);
    expect(line.endsWith('}\n')).toBe(true);
    expect(tracer.lines).toEqual(lines);
  },
);

const failing = (): never => {
  throw new Error('of the tracer');
};

test.each([
  ['throws from its mixin', { onMixin: failing }],
  ['drops the line', { keepsBack: true }],
])('the writer writes the record alone when a tracer %s', async (_name, fault) => {
  const { lines, writer } = keptLines();
  writer.write(smallRecord('one'));
  const sound = { ...tracer };
  Object.assign(tracer, fault);
  onTestFinished(() => void Object.assign(tracer, sound));
  writer.write(smallRecord('two'));
  expect(lines[1]).toBe(`${JSON.stringify(smallRecord('two'))}\n`);
  expect(await writer.stats()).toMatchObject({ written: 2, failed: 0 });
});

test.each(['onMixin', 'onLine'] as const)(
  'a writer writes each record once when a hook of the tracer (%s) writes another',
  (hook) => {
    const { lines, writer } = keptLines();
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
