import { describe, expect, test } from 'vitest';
import { INCIDENT_TYPES, PULSE_GENRES, RULESETS } from '../../src/contract/index.ts';
import {
  EVENT_VOCABULARY,
  findEventTerms,
  findIncidentTerms,
  INCIDENT_VOCABULARY,
} from '../../src/projection/vocabulary-map.ts';

describe('a ruleset or protection', () => {
  const SAME_NAME = [
    'sql_injection',
    'nosql_injection',
    'shell_injection',
    'shellshock',
    'xss',
    'lfi',
  ];
  const UNKNOWN = ['ssrf', 'a_new_word', 'constructor'];

  test.each([
    ...[...SAME_NAME, ...UNKNOWN].map((word) => [word, 'injection', word]),
    ...['js_injection', 'java_injection', 'php_eval', 'eval'].map((word) => [
      word,
      'injection',
      'evaluation',
    ]),
    ['rfi', 'injection', 'lfi'],
    ['security_scanner', 'http_error', 'bot_scanning'],
    ['crs', 'http_error', 'scan'],
    ['protocol', 'http_error', 'scan'],
  ])('%s becomes %s / %s', (word = '', category, kind) => {
    expect(findEventTerms(word)).toMatchObject({ category, kind });
  });

  test('has a row for each ruleset of the contract', () => {
    expect(RULESETS.filter((ruleset) => !Object.hasOwn(EVENT_VOCABULARY, ruleset))).toEqual([]);
  });

  test.each([
    ['sql_injection', 'SQL injection'],
    ['a_new_word', 'A new word'],
    ['', ''],
  ])('%j has the title %j', (word, title) => {
    expect(findEventTerms(word).title).toBe(title);
  });

  test('uses the fields of an override, and the rest of its row', () => {
    expect(findEventTerms('xss', { xss: { kind: 'xss_stored' } })).toEqual({
      category: 'injection',
      kind: 'xss_stored',
      title: 'Cross-site scripting',
    });
    expect(findEventTerms('ssrf', { ssrf: { title: 'SSRF' } })).toEqual({
      category: 'injection',
      kind: 'ssrf',
      title: 'SSRF',
    });
    expect(findEventTerms('lfi', { xss: { kind: 'other' } })).toEqual(EVENT_VOCABULARY.lfi);
    expect(findEventTerms('toString', {}).kind).toBe('toString');
  });
});

describe('an incident type', () => {
  test.each([
    ['massive_sec_scan', 'http_scan', undefined],
    ['sql_injection', 'injection_sql', undefined],
    ['nosql_injection', 'injection_nosql', undefined],
    ['shellshock', 'injection_shellshock', undefined],
    ['shell_injection', 'injection_shell', undefined],
    ['xss', 'injection_xss', undefined],
    ['lfi', 'injection_lfi', undefined],
    ['eval_injection', 'injection_eval', undefined],
    ['ssrf', 'injection_ssrf', undefined],
    ['xxe', 'injection_xxe', undefined],
    ['insecure_deserialization', 'injection_deserialization', undefined],
    ['failed_auth_peak', 'account_takeover', 'failed_auth_peak'],
    ['unusual_volume_of_signin', 'account_takeover', undefined],
    ['user_risk_increase', 'user_risk_increased', undefined],
  ])('%s becomes %s', (type, messageType, genre) => {
    const terms = findIncidentTerms(type);
    expect(terms?.message_type).toBe(messageType);
    expect(terms?.pulse_genre).toBe(genre);
  });

  test.each(['targeted_attack', 'account_creation_peak', 'a_new_type', 'constructor', ''])(
    '%j has no message on channel B',
    (type) => {
      expect(findIncidentTerms(type)).toBeUndefined();
    },
  );

  test('has a row for each type of the contract, and each genre that a row names exists', () => {
    expect(Object.keys(INCIDENT_VOCABULARY).toSorted()).toEqual([...INCIDENT_TYPES].toSorted());
    const genres = Object.values(INCIDENT_VOCABULARY).flatMap((row) =>
      row !== null && 'pulse_genre' in row ? [row.pulse_genre] : [],
    );
    expect(genres.filter((genre) => !PULSE_GENRES.includes(genre))).toEqual([]);
    expect(genres).not.toEqual([]);
  });

  test('uses only the override if there is one', () => {
    const overrides = { targeted_attack: { message_type: 'injection_any' }, xss: null };
    expect(findIncidentTerms('targeted_attack', overrides)).toEqual({
      message_type: 'injection_any',
    });
    expect(findIncidentTerms('xss', overrides)).toBeUndefined();
    expect(findIncidentTerms('lfi', overrides)).toEqual({ message_type: 'injection_lfi' });
  });
});
