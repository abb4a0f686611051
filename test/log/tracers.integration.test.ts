/** The active span of real tracers, each in a process of its own. */
import { describe, expect, test } from 'vitest';
import { fixtureCommand, runProgram } from '../helpers/child-programs.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { root } from '../helpers/package-files.ts';

interface Told {
  readonly ids: Record<string, unknown>;
  readonly lines: readonly string[];
  readonly stats: object;
}

async function traced(tracer: string, flags: readonly string[] = []): Promise<Told> {
  const [, ...command] = fixtureCommand('traced-writer', [tracer, 'auto']);
  const { stdout, stderr, exitCode } = await runProgram([...flags, ...command], { cwd: root });
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return JSON.parse(stdout) as Told;
}

const keysOf = (line = ''): string[] =>
  [...line.matchAll(/"([\w.]+)":/g)].map(([, key = '']) => key);

describe.concurrent('a record', { timeout: 60_000 }, () => {
  test('has the ids of the active OpenTelemetry span, and none outside of it', async () => {
    const { ids, lines, stats } = await traced('otel');
    expect(ids['traceId']).toMatch(/^[0-9a-f]{32}$/);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ...smallRecord(), trace_id: ids['traceId'], span_id: ids['spanId'], trace_flags: '01' },
      smallRecord('outside'),
    ]);
    expect(stats).toMatchObject({ written: 2, platformFailures: 0 });
  });

  // dd-trace's warning on Node 26: module.register() is deprecated.
  const loaded = ['--disable-warning=DEP0205', '--import', 'dd-trace/initialize.mjs'];
  test.each<[string, readonly string[]]>([
    ['that is made by the program', []],
    ['that is loaded before it, and instruments pino', loaded],
  ])('of dd-trace %s has the ids that it writes itself, once', async (_title, flags) => {
    const { ids, lines } = await traced('datadog', flags);
    const { trace_id, span_id } = ids;
    expect(trace_id).toMatch(/^[0-9a-f]{32}$/);
    expect(span_id).toMatch(/^\d+$/);
    const [inside = '', outside = ''] = lines;
    const ours = { service: 'shop', env: 'production' };
    expect(JSON.parse(inside)).toEqual({ ...smallRecord(), ...ours, dd: { trace_id, span_id } });
    expect(keysOf(inside).filter((key) => key === 'dd')).toHaveLength(1);
    expect(JSON.parse(outside)).toMatchObject({ ...smallRecord('outside'), env: 'production' });
    expect(outside).not.toContain('trace_id');
  });
});
