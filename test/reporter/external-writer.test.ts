/** A log writer that the host passes, and whose `write` it may have replaced or wrapped. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogWriter, type LogWriter } from '../../src/log/writer.ts';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import type { RejectedEvent } from '../../src/reporter/rejections.ts';
import { createLineSink } from '../../src/testing/index.ts';

type Lent = LogWriter<'open'>;
type Given = Parameters<Lent['write']>[0];

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };

const redact = (record: Given): Given => ({ ...record, payload: { ruleset: 'redacted' } }) as Given;

function opened(change: (writer: Lent) => Lent) {
  const sink = createLineSink();
  const rejected: RejectedEvent[] = [];
  const reporter = createReporter({
    service: SERVICE,
    log: change(createLogWriter<'open'>({ destination: sink, dialect: 'open' })),
    onRejected: (event) => rejected.push(event),
  });
  onTestFinished(async () => void (await reporter.close({ deadlineMs: 0 })));
  return { reporter, lines: sink.lines, rejected };
}

const patched = (writer: Lent): Lent => {
  const write = writer.write.bind(writer);
  writer.write = (record) => write(redact(record));
  return writer;
};

const proxied = (writer: Lent): Lent =>
  new Proxy(writer, {
    get: (target, key) => {
      if (key === 'write') return (record: Given) => target.write(redact(record));
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

const inheriting = (writer: Lent): Lent =>
  Object.create(writer, {
    write: { value: (record: Given) => writer.write(redact(record)) },
    flush: { value: () => writer.flush() },
    close: { value: () => writer.close() },
  }) as Lent;

describe('the host’s writer', () => {
  test.each([
    ['whose write was replaced', patched],
    ['behind a proxy', proxied],
    ['from which the host\u2019s inherits', inheriting],
  ])('%s gets each record by its write', async (_, change) => {
    const { reporter, lines, rejected } = opened(change);
    reporter.attack({ ruleset: 'sql_injection' });
    expect(rejected).toEqual([]);
    expect(lines.map((line) => JSON.parse(line).payload)).toEqual([{ ruleset: 'redacted' }]);
    expect((await reporter.stats()).written).toBe(1);
  });
});
