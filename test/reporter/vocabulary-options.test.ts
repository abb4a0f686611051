import { describe, expect, test } from 'vitest';
import {
  readEventVocabulary,
  readIncidentVocabulary,
} from '../../src/reporter/vocabulary-options.ts';

const refused = (path: readonly string[]) =>
  expect.objectContaining({ code: 'ERR_INVALID_OPTION', path });

describe('rows of rulesets and protections', () => {
  test('are copied, in whole or in part', () => {
    const row = { category: 'package', kind: 'package_vulnerable', title: 'Old package' };
    const table = { old: row, xss: { title: 'XSS' }, lfi: {}, rfi: { kind: undefined } };
    const read = readEventVocabulary({ ...table, crs: undefined });
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

  test.each([
    [7, ['eventVocabulary']],
    [null, ['eventVocabulary']],
    [{ xss: 7 }, ['eventVocabulary', 'xss']],
    [{ xss: { title: '' } }, ['eventVocabulary', 'xss', 'title']],
    [{ xss: { titel: 'x' } }, ['eventVocabulary', 'xss', 'titel']],
  ])('that cannot be used are refused by their path: %j', (table, path) => {
    expect(() => readEventVocabulary(table)).toThrow(refused(path));
  });
});

describe('rows of incident types', () => {
  test('are copied, and may say that a type is not reported', () => {
    const table = {
      xss: null,
      ssrf: { message_type: 'injection_ssrf', pulse_genre: undefined },
      peak: { message_type: 'account_takeover', pulse_genre: 'failed_auth_peak' },
    };
    const before = structuredClone(table);
    const read = readIncidentVocabulary({ ...table, lfi: undefined });
    table.peak.message_type = 'changed';
    expect(read).toEqual(before);
    expect(Object.hasOwn(read['ssrf'] ?? {}, 'pulse_genre')).toBe(false);
    expect(Object.hasOwn(read, 'lfi')).toBe(false);
  });

  test.each([
    ['xss', ['incidentVocabulary']],
    [{ xss: {} }, ['incidentVocabulary', 'xss', 'message_type']],
    [{ xss: { message_type: '' } }, ['incidentVocabulary', 'xss', 'message_type']],
    [{ xss: { message_type: 'test' } }, ['incidentVocabulary', 'xss', 'message_type']],
    [
      { xss: { message_type: 'http_scan', pulse_genre: '' } },
      ['incidentVocabulary', 'xss', 'pulse_genre'],
    ],
  ])('that cannot be used are refused by their path: %j', (table, path) => {
    expect(() => readIncidentVocabulary(table)).toThrow(refused(path));
  });
});
