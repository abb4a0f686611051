/** Our own requests with real tracers, each in its own process. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fixtureCommand, runProgram } from '../helpers/child-programs.ts';
import { root } from '../helpers/package-files.ts';
import { type ReceivedRequest, startReceiver } from '../helpers/receiver.ts';

/** Headers that tracers add to requests. */
const TRACE_HEADERS = /^(?:traceparent|tracestate|baggage|b3|x-b3-.*|x-datadog-.*)$/;

const traceHeaders = ({ headers }: ReceivedRequest): string[] =>
  Object.keys(headers).filter((name) => TRACE_HEADERS.test(name));

const versionOf = (name: string): string => {
  const manifest = readFileSync(`${root}/node_modules/${name}/package.json`, 'utf8');
  return `${name} ${(JSON.parse(manifest) as { readonly version: string }).version}`;
};

async function traced(tracer: string, flags: readonly string[] = []) {
  const receiver = await startReceiver();
  try {
    const [, ...command] = fixtureCommand('traced-posts', [
      tracer,
      receiver.url.replace('/hook', ''),
    ]);
    const { stdout, stderr, exitCode } = await runProgram([...flags, ...command], { cwd: root });
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const posts = receiver.requests.map((request) => ({
      target: request.target,
      traceHeaders: traceHeaders(request),
    }));
    return { spans: JSON.parse(stdout) as string[], posts };
  } finally {
    await receiver.close();
  }
}

describe.concurrent('our own requests', { timeout: 60_000 }, () => {
  test.each<[string, string, readonly string[], readonly string[], readonly string[]]>([
    [
      versionOf('@opentelemetry/instrumentation-undici'),
      'otel',
      [],
      ['POST', 'tcp.connect'],
      ['traceparent'],
    ],
    [
      versionOf('dd-trace'),
      'datadog',
      // dd-trace calls module.register(), which Node 26 deprecates.
      ['--disable-warning=DEP0205', '--import', 'dd-trace/initialize.mjs'],
      ['undici.request', 'tcp.connect', 'dns.lookup'],
      [
        'x-datadog-trace-id',
        'x-datadog-parent-id',
        'x-datadog-sampling-priority',
        'x-datadog-tags',
        'traceparent',
        'tracestate',
      ],
    ],
  ])('create no span of %s and send no trace headers', async (...row) => {
    const [, tracer, flags, hostSpans, hostHeaders] = row;
    const { spans, posts } = await traced(tracer, flags);
    expect(spans).toEqual(['request 1', 'request 2', 'request 3', ...hostSpans]);
    expect(posts).toEqual([
      { target: '/now', traceHeaders: [] },
      { target: '/later', traceHeaders: [] },
      { target: '/later', traceHeaders: [] },
      { target: '/host', traceHeaders: hostHeaders },
    ]);
  });
});
