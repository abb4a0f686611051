import type { LogRecord } from '../../src/contract/index.ts';
import { createLogWriter } from '../../src/log/writer.ts';
import type { LogWriterOptions } from '../../src/log/writer-options.ts';

/** The smallest valid record, identified by its name. */
export const smallRecord = (name = 'shop'): LogRecord => ({
  context: { service: { env: 'production', name, svc_id: 'svc-1' } },
  detected_at: '2026-11-21T10:00:00.000Z',
  event_name: 'svc.ev0.threat.attack',
  event_version: '1.0.0',
  payload: { ruleset: 'sql_injection' },
});

/** A custom event with free-form options, as the caller passes it in. */
export const customRecord = (options: Readonly<Record<string, unknown>>) => ({
  context: { service: { env: 'production', name: 'shop', svc_id: 'svc-1' } },
  detected_at: '2026-11-21T10:00:00.000Z',
  event_name: 'svc.ev0.custom_event' as const,
  event_version: '1.0.0',
  payload: { event_name: 'checkout', options },
});

/** Creates a log writer whose lines are kept. */
export function keptLines(options: LogWriterOptions<'strict' | 'open'> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, writer: createLogWriter({ destination, ...options }) };
}

/** Parses each line of a text as a record. Throws if one is not JSON. */
export const parseLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
