import { describe, expect, test } from 'vitest';
import { SEND_OPTIONS } from '../../src/delivery/options.ts';
import { readSendOptions } from '../../src/delivery/read-options.ts';
import { DEFAULT_USER_AGENT } from '../../src/webhook/request-headers.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const DESTINATION = { url: 'https://receiver.example/hook/', secret: 'key' };
const MAX = 2_147_483_647;
const dispatcher = { request: () => {} };

const errorOf = (destination: unknown, options?: unknown) =>
  thrownBy(() => readSendOptions(destination, options));

describe('settings', () => {
  test.each([
    [undefined],
    [null],
    [{}],
    [{ format: undefined, schedule: undefined, signal: undefined }],
  ])('have their defaults with the options %j', (options) => {
    expect(readSendOptions(DESTINATION, options)).toEqual({
      url: new URL(DESTINATION.url),
      secret: 'key',
      format: 2,
      dialect: 'strict',
      schedule: {
        delaysMs: [500, 2000, 5000],
        maxWaitMs: 30_000,
        horizonMs: Number.POSITIVE_INFINITY,
      },
      maxBodyBytes: 1_048_576,
      maxMessages: 1000,
      http: {
        deadlines: { headersMs: 15_000, totalMs: 20_000 },
        network: 'public',
        dispatcher: undefined,
      },
      headers: { 'Content-Type': 'application/json', 'User-Agent': DEFAULT_USER_AGENT },
      signal: undefined,
    });
  });

  test('take every option', () => {
    const { signal } = new AbortController();
    const schedule = { delaysMs: [0, MAX], repeatLast: true, horizonMs: 0, maxWaitMs: MAX };
    const options = {
      format: 1,
      dialect: 'open',
      schedule,
      maxBodyBytes: 1,
      maxMessages: 7,
      deadlineMs: MAX,
      network: 'delegated',
      dispatcher,
      headers: { 'x-a': '1' },
      userAgent: 'shop',
      signal,
    };
    expect(readSendOptions(DESTINATION, options)).toEqual({
      url: new URL(DESTINATION.url),
      secret: 'key',
      format: 1,
      dialect: 'open',
      schedule,
      maxBodyBytes: 1,
      maxMessages: 7,
      http: {
        deadlines: { headersMs: MAX - 5000, totalMs: MAX },
        network: 'delegated',
        dispatcher,
      },
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'shop', 'x-a': '1' },
      signal,
    });
  });

  test.each([
    [{ delaysMs: [] }, { delaysMs: [], maxWaitMs: 30_000 }],
    [{ maxWaitMs: 0 }, { delaysMs: [500, 2000, 5000], maxWaitMs: 0 }],
    [
      { repeatLast: false, horizonMs: 9 },
      { delaysMs: [500, 2000, 5000], maxWaitMs: 30_000, repeatLast: false, horizonMs: 9 },
    ],
  ])('complete the schedule %j', (schedule, complete) => {
    const noHorizon = { horizonMs: Number.POSITIVE_INFINITY };
    expect(readSendOptions(DESTINATION, { schedule }).schedule).toEqual({
      ...noHorizon,
      ...complete,
    });
  });

  test('do not follow later changes of the options', () => {
    const options = { format: 2, schedule: { maxWaitMs: 5 } };
    const settings = readSendOptions(DESTINATION, options);
    options.schedule.maxWaitMs = 6;
    expect(settings.schedule.maxWaitMs).toBe(5);
  });
});

describe('an option is refused', () => {
  test.each(Object.keys(SEND_OPTIONS))('%s, which is no number that it takes', (name) => {
    expect(errorOf(DESTINATION, { [name]: Number.NaN })).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: [name],
    });
  });

  test.each<[unknown, readonly string[], string]>([
    [{ retries: 3 }, ['retries'], 'unknown key "retries" in the options'],
    [
      { schedule: { repeatLast: true } },
      ['schedule', 'horizonMs'],
      'schedule.repeatLast needs schedule.horizonMs',
    ],
    [{ dispatcher }, ['network'], "a dispatcher of your own needs network: 'delegated'"],
  ])('%j, reported at %j', (options, path, detail) => {
    expect(errorOf(DESTINATION, options)).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path,
      message: expect.stringContaining(`An option is not usable: ${detail}. `),
    });
  });
});

test.each<[unknown, string, readonly string[]]>([
  [undefined, 'ERR_INVALID_OPTION', []],
  ['https://receiver.example', 'ERR_INVALID_OPTION', []],
  [{ ...DESTINATION, application: 'a' }, 'ERR_INVALID_OPTION', ['application']],
  [{ secret: 'key' }, 'ERR_INVALID_URL', ['url']],
  [{ ...DESTINATION, url: 'https://user:pass@receiver.example' }, 'ERR_INVALID_URL', ['url']],
  [{ url: DESTINATION.url }, 'ERR_INVALID_SECRET', ['secret']],
])('a destination is refused %j with %s at %j', (destination, code, path) => {
  expect(errorOf(destination)).toMatchObject({ code, path });
});
