import { describe, expect, it, test } from 'vitest';
import { createRedactor, REDACTED } from '../../../src/capture/redaction/redactor.ts';
import { SECRET_SHAPES } from '../../../src/capture/redaction/secret-shapes.ts';
import { SENSITIVE_KEYS } from '../../../src/capture/redaction/sensitive-names.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';

const { isSensitiveKey, maskText, isSecretNumber } = createRedactor();

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl';
const CARD = '4111111111111111';

describe('a sensitive key', () => {
  const NAMES =
    'PASSWORD user.password user-password newpassword password2 pass accesstoken AccessTokens ' +
    'APIKey ApiKeyV2 user[api][key] x_auth cookies CVV2 user_ssn';
  const OTHERS = 'author shipping opinion key tokenizer compass bypassed resident name q [] 密码';

  test.each(NAMES.split(' '))('is %s', (key) => {
    expect(isSensitiveKey(key)).toBe(true);
  });

  test.each(['', ...OTHERS.split(' ')])('is not %s', (key) => {
    expect(isSensitiveKey(key)).toBe(false);
  });

  it('is recognised by its first 256 characters', () => {
    expect(isSensitiveKey(`${'a-'.repeat(124)}password`)).toBe(true);
    expect(isSensitiveKey(`${'a-'.repeat(125)}password`)).toBe(false);
  });

  it('has the same verdict after thousands of others', () => {
    const redactor = createRedactor();
    const judged = () => ['password', 'name', `${'x'.repeat(80)}-pin`].map(redactor.isSensitiveKey);
    expect([judged(), judged()]).toEqual([
      [true, false, true],
      [true, false, true],
    ]);
    for (let index = 0; index < 2500; index += 1) redactor.isSensitiveKey(`n${index}`);
    expect(judged()).toEqual([true, false, true]);
  });

  it('may be in a list of the user', () => {
    const redactor = createRedactor({ sensitiveKeys: ['colour', 'taste*'] });
    const found = ['colour', 'eyeColour', 'tastes', 'distaste', 'password'].map(
      redactor.isSensitiveKey,
    );
    expect(found).toEqual([true, true, true, false, false]);
    expect(createRedactor({ sensitiveKeys: [] }).isSensitiveKey('password')).toBe(false);
  });

  it('may be added, removed and kept', () => {
    const sensitiveKeys = { add: ['colour'], remove: ['pin'], keep: ['max_tokens', 'authToken'] };
    const redactor = createRedactor({ sensitiveKeys });
    const judged = ['colour', 'pin', 'password', 'maxTokens', 'auth-token', 'token'].map(
      redactor.isSensitiveKey,
    );
    expect(judged).toEqual([true, false, true, false, false, true]);
  });

  it('is unique and well-formed in the default list', () => {
    expect(new Set(SENSITIVE_KEYS).size).toBe(SENSITIVE_KEYS.length);
    expect(createRedactor({ sensitiveKeys: SENSITIVE_KEYS }).isSensitiveKey('pin')).toBe(true);
  });
});

describe('options of redaction', () => {
  test.each([
    [{ sensitiveKeys: ['Pass Word'] }, 'redaction.sensitiveKeys', 'a list of patterns'],
    [{ sensitiveKeys: ['*'] }, 'redaction.sensitiveKeys', 'a list of patterns'],
    [{ sensitiveKeys: [7] }, 'redaction.sensitiveKeys', 'a list of patterns'],
    [{ sensitiveKeys: 'pin' }, 'redaction.sensitiveKeys', 'or an object of lists'],
    [{ sensitiveKeys: null }, 'redaction.sensitiveKeys', 'or an object of lists'],
    [{ sensitiveKeys: { add: ['a*b'] } }, 'redaction.sensitiveKeys.add', 'a list of patterns'],
    [{ sensitiveKeys: { remove: ['pins'] } }, 'redaction.sensitiveKeys.remove', 'the default list'],
    [{ sensitiveKeys: { keep: [''] } }, 'redaction.sensitiveKeys.keep', 'a list of names'],
    [{ maskValues: 1 }, 'redaction.maskValues', 'true or false'],
  ])('refuse %j', (options, path, expected) => {
    expect(() => createRedactor(options as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: path.split('.'),
        message: expect.stringContaining(`expected ${path} to be `),
      }),
    );
    expect(() => createRedactor(options as never)).toThrow(expected);
  });

  test.each([
    [{ mask: true }, 'unknown key "mask" in redaction'],
    [{ sensitiveKeys: { added: [] } }, 'unknown key "added" in redaction.sensitiveKeys'],
    [null, 'expected redaction to be an object'],
    [[], 'expected redaction to be an object'],
  ])('refuse the form of %j', (options, message) => {
    expect(() => createRedactor(options as never)).toThrow(message);
  });

  it('can switch off masking by shape', () => {
    const redactor = createRedactor({ maskValues: false });
    expect(redactor.maskText(`Bearer ${JWT} password=a`)).toBe(`Bearer ${JWT} password=a`);
    expect(redactor.isSecretNumber(Number(CARD))).toBe(false);
    expect(redactor.isSensitiveKey('password')).toBe(true);
    expect(redactor.isSecret('code', 'SplxlOBeZQQYbYS6WxSbIA')).toBe(false);
    expect(redactor.isSecretSegment('token', 'SplxlOBeZQQYbYS6WxSbIA')).toBe(false);
  });
});

const PEM_BODY = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj';

describe('a secret in a text', () => {
  test.each([
    [JWT, REDACTED],
    [`a${JWT}`, `a${REDACTED}`],
    [`eyJ.${JWT}`, REDACTED],
    ['Bearer abcdefghijklmnop', `Bearer ${REDACTED}`],
    ['bearer  abcdefghijklmnop', `bearer  ${REDACTED}`],
    ['BEARER%20abcdefghijklmnop', `BEARER%20${REDACTED}`],
    ['authorization: Basic dXNlcjpwYXNz', `authorization: Basic ${REDACTED}`],
    [
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n${PEM_BODY}\n-----END RSA PRIVATE KEY-----`,
      `-----BEGIN RSA PRIVATE KEY-----${REDACTED}-----END RSA PRIVATE KEY-----`,
    ],
    [`-----BEGIN PRIVATE KEY-----␊${PEM_BODY}`, `-----BEGIN PRIVATE KEY-----${REDACTED}`],
    [
      `-----BEGIN%20EC%20PRIVATE%20KEY-----${PEM_BODY}`,
      `-----BEGIN%20EC%20PRIVATE%20KEY-----${REDACTED}`,
    ],
    [
      `-----BEGIN PGP PRIVATE KEY BLOCK-----${PEM_BODY}`,
      `-----BEGIN PGP PRIVATE KEY BLOCK-----${REDACTED}`,
    ],
    [`x ghp_${'a1'.repeat(18)} y`, `x ${REDACTED} y`],
    [`github_pat_${'a1'.repeat(20)}`, REDACTED],
    ['id=ASIAIOSFODNN7EXAMPLE;', `id=${REDACTED};`],
    ['xapp-1-A0123456789', REDACTED],
    [`sk-ant-api03-${'x'.repeat(20)}`, REDACTED],
    [`AIza${'S'.repeat(35)}`, REDACTED],
    [`glpat-${'x'.repeat(20)}`, REDACTED],
    [`SG.${'x'.repeat(22)}.${'y'.repeat(43)}`, REDACTED],
    ['https://alice:hunter2@shop.example/a', `https://${REDACTED}@shop.example/a`],
    [`card ${CARD}.`, `card ${REDACTED}.`],
    ['4111-1111-1111-1111', REDACTED],
    [
      'on 2026-11-21 4111111111111111 and 5555555555554444',
      `on 2026-11-21 ${REDACTED} and ${REDACTED}`,
    ],
    ['6304 0000 0000 0000 000', REDACTED],
    ['/cb?a=1&token=abc&b=2#x', `/cb?a=1&token=${REDACTED}&b=2#x`],
    ['user%5Bpassword%5D=hunter2&a=1', `user%5Bpassword%5D=${REDACTED}&a=1`],
    ['%E0%A4%A&pin=1', `%E0%A4%A&pin=${REDACTED}`],
    ['sid=abc; theme=dark', `sid=${REDACTED}; theme=dark`],
    ['{"password":"hun\\"ter2","a":"b"}', `{"password":"${REDACTED}","a":"b"}`],
    ['{"a":{"pin" : 1234},"b":[1]}', `{"a":{"pin" : ${REDACTED}},"b":[1]}`],
    ['{\\"apiKey\\":\\"k\\",\\"a\\":\\"b\\"}', `{\\"apiKey\\":\\"${REDACTED}\\",\\"a\\":\\"b\\"}`],
    ["{'pin': 1234, 'a': 'b'}", `{'pin': ${REDACTED}, 'a': 'b'}`],
    ["{'pin': '1\\'2', 'a': ''}", `{'pin': '${REDACTED}', 'a': ''}`],
    ['{"token":"never closed', `{"token":"${REDACTED}`],
    ['</a><password>never closed', `</a><password>${REDACTED}`],
    ['<a><token>x</token><b>y</b></a>', `<a><token>${REDACTED}</token><b>y</b></a>`],
    ['login(password: "x", email: "y")', `login(password: "${REDACTED}", email: "y")`],
    ['{"secret":{"password":"x"}}', `{"secret":{"password":"${REDACTED}"}}`],
  ])('is masked in %j', (text, expected) => {
    expect(maskText(text)).toBe(expected);
    expect(maskText(expected)).toBe(expected);
  });

  test.each([
    '',
    'hello world, nothing here',
    'the bearer of this',
    'basic knowledge',
    'Basic aGVsbG8gd29ybGQ',
    'eyJhbGciOiJIUzI1NiJ9',
    'eyJ.',
    '-----BEGIN PUBLIC KEY-----',
    'ghp_short',
    'AKIA',
    'AKIAIOSFODNN7EXAMPLES',
    'xAKIAIOSFODNN7EXAMPLE',
    'https://shop.example/a@b:c',
    'https://alice@shop.example',
    '4111111111111112',
    '41111111111111111111',
    'a4111111111111111',
    '4111111111111111a',
    '0.4111111111111111',
    '1763712000000',
    '+49 170 1234 5678',
    '1111 1111 1111 1117',
    'q=search&page=2',
    '=x',
    'code=WELCOME10&a=1',
    '<a><code>WELCOME10</code></a>',
    'password: sesame, at 10:30',
    'a hash da39a3ee5e6b4b0d3255bfef95601890afd80709',
    'a token wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY=',
    'a token wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEYS',
    'DE89370400440532013001',
    '"password": ',
    "{'password': {'$ne': ''}}",
    "it's a test: 'password'",
    '{"a":"b"}',
    'risk-assessment-of-the-year-long',
    `desk_live_${'x'.repeat(30)}`,
  ])('is not found in %j', (text) => {
    expect(maskText(text)).toBe(text);
  });

  it('is found if the text was cut inside it', () => {
    expect(maskText('a long text eyJhbGciOiJI', true)).toBe(`a long text ${REDACTED}`);
    expect(maskText('a long text Bearer abc', true)).toBe(`a long text Bearer ${REDACTED}`);
    expect(maskText('a long text Bearer abc, more', true)).toBe('a long text Bearer abc, more');
    expect(maskText('<a>1<token>abc', true)).toBe(`<a>1<token>${REDACTED}`);
  });
});

test.each([
  [4111111111111111, true],
  [378282246310005, true],
  [-4111111111111111, false],
  [4111111111111112, false],
  [1763712000000, false],
  [4222222222222.5, false],
  [Number.NaN, false],
])('the number %d may be a card: %s', (value, expected) => {
  expect(isSecretNumber(value)).toBe(expected);
});

describe('the work on hostile texts', () => {
  it.each(SECRET_SHAPES)('is bounded at each position for $name', ({ start, rest }) => {
    // Only quantifiers with an upper bound: a failed start costs a number of steps that is fixed.
    const bare = start.replaceAll('\\+', 'x').replace(/\[[^\]]*\]/g, 'x');
    expect(bare).not.toMatch(/[*+]|\{\d+,\}|\{\d{3,}/);
    // One class, or a plain text to look for: nothing to go back to.
    const judged = typeof rest === 'string' ? rest : '[plain]';
    expect(judged).toMatch(/^(?:\\w|\[(?:[^\]\\]|\\.)+\])$/);
  });

  const LENGTH = quickOrNightly(250_000, 1_000_000);
  const filled = (unit: string) => unit.repeat(LENGTH / unit.length);
  /** Takes milliseconds. Work that grows with the square of the length takes half a minute at least. */
  const timeout = quickOrNightly(8000, 120_000);

  it.each([
    'eyJ',
    '-eyJ.,',
    '-----BEGIN ',
    '-----BEGIN PRIVATE KEY---- ',
    'Bearer ',
    '://',
    '://a:',
    'ghp_ ',
    '4',
    '4-',
    '1234 ',
    '=',
    '"',
    '\\":',
    '"a":"',
    'a',
    'sk- ',
    'code=',
    '<a>',
    '<a b="',
    '<code>a</',
    'key: "',
    '":"',
    "':'",
    "key: '",
    'DE89 3704 ',
    `${'A'.repeat(39)} `,
    'Ab1/',
    ' ',
    '\n',
    "('",
    '/* ',
    'or # ',
    'or\n',
    'select ',
    'update a ',
    'a=;',
    "a='\n",
    '\ud83d',
  ])('leaves a long text of %j unchanged', { timeout }, (unit) => {
    const text = filled(unit);
    expect(maskText(text) === text).toBe(true);
  });

  it('searches a long text of beginnings that was cut', { timeout }, () => {
    const text = `${filled('4 ')}4`;
    expect(maskText(text, true) === `${text.slice(0, -37)}${REDACTED}`).toBe(true);
  });

  it('finds a secret after a long text of beginnings', { timeout }, () => {
    expect(maskText(`${filled('eyJ-')} ${JWT}`).endsWith(` ${REDACTED}`)).toBe(true);
    expect(maskText(filled('password=a&')).length).toBeGreaterThan(LENGTH);
  });
});
