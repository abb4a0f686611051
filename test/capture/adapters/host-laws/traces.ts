/** What a tracer records of a blocked request: OpenTelemetry's own SDK. */

import type { Server } from 'node:net';
import { context, type Span, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { expect, onTestFinished, test } from 'vitest';
import { blockRequest } from '../../../../src/capture/index.ts';
import type { StartHost } from '../host-suite.ts';

/** Registers a tracer until the test ends. Returns the exported spans. */
export function startTracer(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  onTestFinished(async () => {
    trace.disable();
    context.disable();
    await provider.shutdown();
  });
  return exporter;
}

/** As OpenTelemetry's instrumentation of node:http does: a span around each request. */
function spansAround(server: Server): void {
  const tracer = trace.getTracer('a test');
  const emit = server.emit.bind(server);
  server.emit = (name: string, ...given: unknown[]) => {
    if (name !== 'request') return emit(name, ...given);
    return tracer.startActiveSpan('GET', (span) => {
      endWith(given[1], span);
      return emit(name, ...given);
    });
  };
}

function endWith(response: unknown, span: Span): void {
  (response as { once(name: string, listener: () => void): void }).once('close', () => span.end());
}

export function traceLaws(start: StartHost): void {
  test('has the exception on the span of a blocked request, and no failed span', async () => {
    const exporter = startTracer();
    const { ask, server } = await start(() => blockRequest());
    spansAround(server);
    expect((await ask('/')).status).toBe(403);
    await expect.poll(() => exporter.getFinishedSpans()).toHaveLength(1);
    const [span] = exporter.getFinishedSpans();
    expect(span?.events).toMatchObject([
      { name: 'exception', attributes: { 'exception.type': 'RequestBlockedError' } },
    ]);
    expect(span?.status).toEqual({ code: 0 });
  });
}
