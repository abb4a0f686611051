import { describe, expect, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { createLineSink, sampleRecord } from '../../src/testing/index.ts';

describe('createLineSink', () => {
  test('is a log destination that keeps lines and records', async () => {
    const sink = createLineSink();
    const log = createLogWriter({ destination: sink });
    const record = sampleRecord('svc.ev0.user_event.login');
    log.write(record);
    log.write(sampleRecord('svc.ev0.incident'));
    await log.close();
    expect(sink.lines).toHaveLength(2);
    expect(sink.lines[0]).toBe(`${JSON.stringify(record)}\n`);
    expect(sink.records.map(({ event_name }) => event_name)).toEqual([
      'svc.ev0.user_event.login',
      'svc.ev0.incident',
    ]);
  });

  test('fails with failWith, and drops that line', () => {
    const calls: [string, number][] = [];
    const full = new Error('ENOSPC');
    const sink = createLineSink({
      failWith: (line, index) => {
        calls.push([line.slice(-2), index]);
        return index === 1 ? full : undefined;
      },
    });
    const log = createLogWriter({ destination: sink });
    log.write(sampleRecord());
    expect(() => log.write(sampleRecord())).toThrow(
      expect.objectContaining({ code: 'ERR_WRITE_FAILED', cause: full }),
    );
    log.write(sampleRecord());
    expect(sink.lines).toHaveLength(2);
    expect(calls).toEqual([
      ['}\n', 0],
      ['}\n', 1],
      ['}\n', 2],
    ]);
  });

  test('throws for an invalid line only when records are read', () => {
    const sink = createLineSink();
    sink.write('{"event_name":"another"}\n');
    expect(sink.lines).toEqual(['{"event_name":"another"}\n']);
    expect(() => sink.records).toThrow(expect.objectContaining({ code: 'ERR_INVALID_RECORD' }));
  });
});
