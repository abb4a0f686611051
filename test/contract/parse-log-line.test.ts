import { describe, expect, it } from 'vitest';
import { parseLogLine } from '../../src/contract/index.ts';
import { ERROR_TABLE } from '../../src/errors.ts';
import { thrownBy } from '../helpers/thrown-by.ts';
import { setAt } from './cases/case.ts';
import { LINE, RECORDS } from './samples.ts';

const text = JSON.stringify(LINE);

const NO_LINES: readonly [string, string, string][] = [
  ['empty', '', 'not JSON'],
  ['absent', undefined as never, 'not JSON'],
  ['free text', 'password=hunter2', 'not JSON'],
  ['cut off', text.slice(0, -1), 'not JSON'],
  ['two lines', `${text}\n${text}`, 'more than one line'],
  ['two lines of Windows', `${text}\r\n${text}`, 'more than one line'],
  ['two lines of an old Mac', `${text}\r${text}`, 'more than one line'],
  ['one record over several lines', JSON.stringify(LINE, null, 2), 'more than one line'],
];

describe('parseLogLine', () => {
  it.each([
    ['as it was written', text],
    ['with its line break', `${text}\n`],
    ['with white space and a byte order mark around it', `\ufeff ${text}\r\n`],
  ])('D17 reads a line %s', (_how, line) => {
    expect(JSON.stringify(parseLogLine(line))).toBe(text);
  });

  it('D17 reads a record, and what loggers and hosts add to one', () => {
    expect(parseLogLine(JSON.stringify(RECORDS.login))).toEqual(RECORDS.login);
    const noisy = { level: 30, time: 1, ...RECORDS.login, msg: '', trace_id: 5 };
    expect(parseLogLine(JSON.stringify(noisy))).toEqual(noisy);
  });

  it('D17 reads the open dialect in the received reading by default', () => {
    const foreign = setAt(
      setAt(RECORDS.attack, 'context.actor.ip.address', '2001:db8::1'),
      'payload.more',
      1,
    );
    const line = JSON.stringify(foreign);
    expect(parseLogLine(line)).toEqual(foreign);
    expect(thrownBy(() => parseLogLine(line, { dialect: 'strict' })).issues).toEqual([
      {
        path: ['context', 'actor', 'ip', 'address'],
        message: 'expected an IPv4 address, found a string',
      },
    ]);
    expect(thrownBy(() => parseLogLine(line, { reading: 'emitted' })).issues).toEqual([
      { path: ['payload'], message: 'unknown key "more"' },
    ]);
  });

  it.each(NO_LINES)('D17 rejects text that is %s with ERR_INVALID_LINE', (_what, line, detail) => {
    const fault = thrownBy(() => parseLogLine(line));
    const { what, hint } = ERROR_TABLE.ERR_INVALID_LINE;
    expect(fault).toMatchObject({
      code: 'ERR_INVALID_LINE',
      kind: 'caller',
      message: `${what}: ${detail}. ${hint}`,
      path: [],
      issues: [],
      input: line,
    });
    expect(fault.cause).toBeUndefined();
  });

  it.each([
    ['[]', [], 'expected an object, found an array'],
    ['"hunter2"', [], 'expected an object, found a string'],
    [
      JSON.stringify(setAt(RECORDS.login, 'context.service.env', { secret: 'hunter2' })),
      ['context', 'service', 'env'],
      'expected a string, found an object',
    ],
  ])(
    'D17 refuses JSON that is no record with ERR_INVALID_RECORD, path and no received text: %s',
    (line, path, message) => {
      const fault = thrownBy(() => parseLogLine(line));
      const { what, hint } = ERROR_TABLE.ERR_INVALID_RECORD;
      const at = path.length === 0 ? '' : `${path.join('.')}: `;
      expect(fault).toMatchObject({
        code: 'ERR_INVALID_RECORD',
        message: `${what}: ${at}${message}. ${hint}`,
        path,
        issues: [{ path, message }],
        input: line,
      });
      expect(fault.message).not.toContain('hunter2');
      expect(fault.cause).toBeUndefined();
    },
  );

  it('D17 reports every fault of a record, the first one in its message', () => {
    const record = setAt(setAt(RECORDS.login, 'event_version', '1'), 'payload.success', 1);
    const fault = thrownBy(() => parseLogLine(JSON.stringify(record)));
    expect(fault.issues.map(({ path }) => path)).toEqual([
      ['event_version'],
      ['payload', 'success'],
    ]);
    expect(fault.message).toContain('event_version: expected a SemVer 2.0.0 version');
    expect(fault.message).not.toContain('success');
  });

  it('rejects an unknown dialect', () => {
    expect(thrownBy(() => parseLogLine(text, { dialect: 'lax' as 'open' }))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['dialect'],
    });
  });
});
