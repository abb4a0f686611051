import { describe, expect, it } from 'vitest';
import * as entry from '../../src/contract/index.ts';
import { contract, received } from '../../src/contract/index.ts';
import { MODES, optionsOf, setAt } from './cases/case.ts';
import { WORDS } from './cases/words.ts';
import { ELEMENTS, MESSAGES, RECORDS } from './samples.ts';

const NAMES = [
  'LogRecord',
  'LogLine',
  'WebhookMessageV2',
  'WebhookBodyV2',
  'WebhookMessageV1',
  'WebhookBodyV1',
] as const;

describe('contract', () => {
  it('D0 is strict and emitted by default, and the bare exports are that reading', () => {
    expect(contract()).toBe(contract({ dialect: 'strict', reading: 'emitted' }));
    expect(contract({})).toBe(contract());
    expect(entry).toMatchObject(contract());
  });

  it('D0 has the strict received reading as `received`', () => {
    expect(received).toBe(contract({ dialect: 'strict', reading: 'received' }));
    expect(received).toBe(contract({ reading: 'received' }));
    expect(contract({ dialect: 'open' })).toBe(contract({ dialect: 'open', reading: 'emitted' }));
  });

  it('D0 has the same six names in four different readings', () => {
    expect(MODES.map((mode) => Object.keys(contract(optionsOf(mode))))).toEqual(
      MODES.map(() => [...NAMES]),
    );
    expect(new Set(MODES.map((mode) => contract(optionsOf(mode)).LogRecord)).size).toBe(4);
  });

  it.each([
    [{ dialect: 'lax' }, 'dialect', '"strict" or "open"'],
    [{ dialect: 'constructor' }, 'dialect', '"strict" or "open"'],
    [{ reading: 'sent' }, 'reading', '"emitted" or "received"'],
    [{ dialect: 'open', reading: 'toString' }, 'reading', '"emitted" or "received"'],
    [{ dialect: null }, 'dialect', '"strict" or "open"'],
  ])('rejects the options %j', (options, option, expected) => {
    expect(() => contract(options as object)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: [option],
        message: `An option is not usable: expected ${option} to be ${expected}. Set the option that \`path\` names as documented.`,
      }),
    );
  });
});

describe('a parse', () => {
  const custom = RECORDS['custom event'];

  it('D0 returns a copy: later changes of the input do not reach the output', () => {
    const options = { list: [1], nested: { a: 1 } };
    const { payload } = contract().LogRecord.parse(setAt(custom, 'payload.options', options));
    options.list.push(2);
    options.nested.a = 2;
    expect(payload).toEqual({ ...custom.payload, options: { list: [1], nested: { a: 1 } } });
  });

  it('D0 throws what a getter in free-form JSON throws', () => {
    const fault = new RangeError('from the getter');
    const options = {
      get a(): never {
        throw fault;
      },
    };
    expect(() => contract().LogRecord.safeParse(setAt(custom, 'payload.options', options))).toThrow(
      fault,
    );
  });

  it('D0 keeps every unknown key of a received record but __proto__', () => {
    const text = JSON.stringify(RECORDS.login).replace(
      '{',
      '{"__proto__":{"a":1},"constructor":2,',
    );
    const output = received.LogRecord.parse(JSON.parse(text));
    expect(Object.hasOwn(output, '__proto__')).toBe(false);
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
    expect(output).toEqual({ ...RECORDS.login, constructor: 2 });
  });
});

const MESSAGE = { ...MESSAGES.test, message: { ...MESSAGES.test.message, ips: [] } };
const PULSE = ELEMENTS.pulse;

const SIZES: readonly [number, string | undefined][] = [
  [0, 'expected at least 1 elements, found 0'],
  [1, undefined],
  [1000, undefined],
  [1001, 'expected at most 1000 elements, found 1001'],
];

describe.each(MODES)('a body in the $name reading', (mode) => {
  const bodies = [
    ['v2', contract(optionsOf(mode)).WebhookBodyV2, MESSAGE],
    ['v1', contract(optionsOf(mode)).WebhookBodyV1, PULSE],
  ] as const;

  it.each(SIZES)('D31 with %i elements is judged: %s', (length, message) => {
    for (const [, schema, element] of bodies) {
      const body = Array.from({ length }, () => element);
      const issues = message === undefined ? [] : [{ path: [], message }];
      const { error } = schema.safeParse(body);
      expect(
        (error?.issues ?? []).map(({ path, message: says }) => ({ path, message: says })),
      ).toEqual(issues);
    }
  });

  it.each([
    ['an object', {}],
    ['nothing', undefined],
    ['a string', '[]'],
  ])('D31 is rejected when it is %s', (kind, body) => {
    for (const [, schema] of bodies) {
      expect(schema.safeParse(body).error?.issues).toMatchObject([
        { path: [], message: `expected an array, found ${kind}` },
      ]);
    }
  });

  it('D31 names the faulty element', () => {
    const [[, body], [, bodyV1]] = bodies;
    expect(body.safeParse([MESSAGE, { ...MESSAGE, retry_count: -1 }]).error?.issues).toMatchObject([
      { path: [1, 'retry_count'], message: 'expected at least 0, found -1' },
    ]);
    expect(bodyV1.safeParse([PULSE, PULSE, null]).error?.issues).toMatchObject([
      { path: [2], message: 'expected an object, found null' },
    ]);
  });

  it('D21 accepts equal ids: the sender must make them differ', () => {
    expect(contract(optionsOf(mode)).WebhookBodyV2.safeParse([MESSAGE, MESSAGE]).success).toBe(
      true,
    );
  });
});

describe('the vocabularies', () => {
  const exported = new Map(
    Object.entries(entry).flatMap(([name, value]) =>
      Array.isArray(value) ? [[name, value.toSorted()]] : [],
    ),
  );

  it.each(
    Object.entries(WORDS).map(
      ([name, words]) => [name.replaceAll(/[A-Z]/g, '_$&').toUpperCase(), words] as const,
    ),
  )('%s holds exactly the words of the contract', (name, words) => {
    expect(exported.get(name)).toEqual(words.toSorted());
  });

  it('D3, D22, D31 fix the versions and the size of a body', () => {
    expect(entry.EVENT_VERSION).toBe('1.0.0');
    expect(entry.API_VERSION).toBe('2');
    expect(entry.MAX_MESSAGES_PER_REQUEST).toBe(1000);
  });
});
