import { Agent } from 'undici';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { checkPosterOptions, type PosterOptions } from '../../../src/webhook/http/post-options.ts';

const MINIMAL: PosterOptions = { network: 'public', clock: systemClock };
const LONGEST_MS = 2 ** 31 - 1;
const dispatcher = new Agent();

function integerFault(name: string, range: string): string {
  return `An option is not usable: ${name} must be an integer from ${range}. Set the option that \`path\` names as its documentation says.`;
}

const deadlineFault = (name: string): string =>
  integerFault(`deadlines.${name}`, '1 to 2147483647');
const countFault = (name: string): string => integerFault(name, '0 to 9007199254740991');

describe('checkPosterOptions', () => {
  test('adds the defaults of D76', () => {
    expect(checkPosterOptions(MINIMAL)).toEqual({
      ...MINIMAL,
      deadlines: { connectMs: 5000, headersMs: 15_000, totalMs: 20_000 },
      maxResponseBytes: 8192,
      maxIdleConnections: 256,
    });
  });

  test('adds the default of each deadline that is not given', () => {
    const given = { ...MINIMAL, deadlines: { headersMs: 7, totalMs: undefined } };
    expect(checkPosterOptions(given).deadlines).toEqual({
      connectMs: 5000,
      headersMs: 7,
      totalMs: 20_000,
    });
  });

  test.each<[string, Partial<PosterOptions>]>([
    ['the shortest deadlines', { deadlines: { connectMs: 1, headersMs: 1, totalMs: 1 } }],
    [
      'the longest deadlines',
      { deadlines: { connectMs: LONGEST_MS, headersMs: LONGEST_MS, totalMs: LONGEST_MS } },
    ],
    ['no byte of response body', { maxResponseBytes: 0 }],
    ['any safe number of bytes', { maxResponseBytes: Number.MAX_SAFE_INTEGER }],
    ['no idle connection', { maxIdleConnections: 0 }],
    ['any safe number of idle connections', { maxIdleConnections: Number.MAX_SAFE_INTEGER }],
    ['a dispatcher that the network is delegated to', { network: 'delegated', dispatcher }],
  ])('keeps %s', (_what, options) => {
    expect(checkPosterOptions({ ...MINIMAL, ...options })).toMatchObject(options);
  });

  const DELEGATE =
    "An option is not usable: a dispatcher of your own needs network: 'delegated'. Set the option that `path` names as its documentation says.";

  test.each<[string, object, readonly string[], string]>([
    ['a dispatcher on a public network', { dispatcher }, ['network'], DELEGATE],
    [
      'a dispatcher on a private network',
      { dispatcher, network: 'allow-private' },
      ['network'],
      DELEGATE,
    ],
    [
      'what is no dispatcher',
      { dispatcher: {}, network: 'delegated' },
      ['dispatcher'],
      'An option is not usable: dispatcher must have the request method of undici. Set the option that `path` names as its documentation says.',
    ],
    ...(['connectMs', 'headersMs', 'totalMs'] as const).flatMap((name) =>
      [0, 1.5, LONGEST_MS + 1, '5'].map((ms): [string, object, readonly string[], string] => [
        `${JSON.stringify(ms)} as ${name}`,
        { deadlines: { [name]: ms } },
        ['deadlines', name],
        deadlineFault(name),
      ]),
    ),
    ...(['maxResponseBytes', 'maxIdleConnections'] as const).flatMap((name) =>
      [-1, 1.5, Number.MAX_SAFE_INTEGER + 1, '5'].map(
        (count): [string, object, readonly string[], string] => [
          `${JSON.stringify(count)} as ${name}`,
          { [name]: count },
          [name],
          countFault(name),
        ],
      ),
    ),
  ])('refuses %s', (_what, options, path, message) => {
    expect(() => checkPosterOptions({ ...MINIMAL, ...options })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path, message }),
    );
  });
});
