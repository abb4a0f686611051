import { describe, expect, it } from 'vitest';
import { nearestWord } from '../../src/cli/nearest-word.ts';
import { durationOf, integerOf, wordOf } from '../../src/cli/option-values.ts';

describe('a time', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['2s', 2000],
    ['1.5m', 90_000],
    ['12h', 43_200_000],
    ['3d', 259_200_000],
  ])('%s is %i ms', (text, ms) => {
    expect(durationOf('delay', text)).toBe(ms);
  });

  it.each(['', '2', '-1s', '2 s', '2w', 's', '1e3s', '2S'])('refuses %j', (text) => {
    expect(() => durationOf('delay', text)).toThrow(
      '--delay must be a time with its unit, such as 250ms, 2s, 5m, 12h or 3d',
    );
  });
});

describe('a whole number', () => {
  it.each([
    ['0', 0],
    ['65535', 65_535],
  ])('reads %s', (text, value) => {
    expect(integerOf('port', text, [0, 65_535])).toBe(value);
  });

  it.each(['', '-1', '65536', '1.5', '0x10', '1e3', ' 1', '9'.repeat(20)])('refuses %j', (text) => {
    expect(() => integerOf('port', text, [0, 65_535])).toThrow(
      '--port must be a whole number from 0 to 65535',
    );
  });
});

it('a word is one of those that are known', () => {
  expect(wordOf('dialect', 'open', ['strict', 'open'])).toBe('open');
  expect(() => wordOf('dialect', 'Open', ['strict', 'open'])).toThrow(
    '--dialect must be one of strict, open',
  );
});

describe('the nearest word', () => {
  const words = ['listen', 'send', 'sign', 'secret', 'schema', 'schedule'];
  it.each([
    ['lisen', 'listen'],
    ['sned', 'send'],
    ['sing', 'sign'],
    ['sched', 'schedule'],
    ['l', undefined],
    ['deliver', undefined],
    ['', undefined],
    ['s'.repeat(100_000), undefined],
    ['secrets', 'secret'],
    ['listn', 'listen'],
    ['slgn', 'sign'],
  ])('to %j is %j', (word, expected) => {
    expect(nearestWord(word, words)).toBe(expected);
  });
});
