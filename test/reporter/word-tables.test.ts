import { describe, expect, test } from 'vitest';
import { readEventWords, readIncidentWords } from '../../src/reporter/word-tables.ts';

const refused = (path: readonly string[], message: string) =>
  expect.objectContaining({
    code: 'ERR_INVALID_OPTION',
    path,
    message: expect.stringContaining(message),
  });

describe('rows of rulesets and protections', () => {
  test('are copied, in whole or in part', () => {
    const row = { category: 'package', kind: 'package_vulnerable', title: 'Old package' };
    const table = { old: row, xss: { title: 'XSS' }, lfi: {}, rfi: { kind: undefined } };
    const read = readEventWords({ ...table, crs: undefined });
    row.title = 'changed';
    expect(read).toEqual({
      old: { category: 'package', kind: 'package_vulnerable', title: 'Old package' },
      xss: { title: 'XSS' },
      lfi: {},
      rfi: {},
    });
    expect(Object.hasOwn(read['rfi'] ?? {}, 'kind')).toBe(false);
    expect(Object.hasOwn(read, 'crs')).toBe(false);
  });

  test('are none where there are none', () => {
    expect(readEventWords(undefined)).toEqual({});
  });

  test.each([
    [7, ['eventWords'], 'expected eventWords to be an object of rows'],
    [null, ['eventWords'], 'an object of rows'],
    [[], ['eventWords'], 'an object of rows'],
    [{ xss: 7 }, ['eventWords', 'xss'], 'expected eventWords.xss to be an object'],
    [{ xss: null }, ['eventWords', 'xss'], 'to be an object'],
    [{ xss: { title: '' } }, ['eventWords', 'xss', 'title'], 'a non-empty string'],
    [{ xss: { kind: 7 } }, ['eventWords', 'xss', 'kind'], 'eventWords.xss.kind to be a non-empty'],
    [{ xss: { category: null } }, ['eventWords', 'xss', 'category'], 'a non-empty string'],
    [{ xss: { titel: 'x' } }, ['eventWords', 'xss', 'titel'], 'unknown key "titel"'],
  ])('that cannot be used are refused by their path: %j', (table, path, message) => {
    expect(() => readEventWords(table)).toThrow(refused(path, message));
  });
});

describe('rows of incident types', () => {
  test('are copied, and may say that a type is not reported', () => {
    const table = {
      xss: null,
      ssrf: { message_type: 'injection_ssrf', pulse_genre: undefined },
      peak: { message_type: 'account_takeover', pulse_genre: 'failed_auth_peak' },
    };
    const read = readIncidentWords({ ...table, lfi: undefined });
    expect(read).toEqual(table);
    expect(Object.hasOwn(read['ssrf'] ?? {}, 'pulse_genre')).toBe(false);
    expect(Object.hasOwn(read, 'lfi')).toBe(false);
    expect(readIncidentWords(undefined)).toEqual({});
  });

  test.each([
    ['xss', ['incidentWords'], 'expected incidentWords to be an object of rows'],
    [{ xss: 'http_scan' }, ['incidentWords', 'xss'], 'expected incidentWords.xss to be an object'],
    [{ xss: {} }, ['incidentWords', 'xss', 'message_type'], 'incidentWords.xss.message_type'],
    [{ xss: { message_type: '' } }, ['incidentWords', 'xss', 'message_type'], 'of an incident'],
    [{ xss: { message_type: 'test' } }, ['incidentWords', 'xss', 'message_type'], 'of an incident'],
    [
      { xss: { message_type: 'security_event' } },
      ['incidentWords', 'xss', 'message_type'],
      'the message type of an incident',
    ],
    [
      { xss: { message_type: 'security_response' } },
      ['incidentWords', 'xss', 'message_type'],
      'the message type of an incident',
    ],
    [
      { xss: { message_type: 'http_scan', pulse_genre: '' } },
      ['incidentWords', 'xss', 'pulse_genre'],
      'a non-empty string',
    ],
    [
      { xss: { message_type: 'http_scan', genre: 'x' } },
      ['incidentWords', 'xss', 'genre'],
      'unknown key "genre"',
    ],
  ])('that cannot be used are refused by their path: %j', (table, path, message) => {
    expect(() => readIncidentWords(table)).toThrow(refused(path, message));
  });
});
