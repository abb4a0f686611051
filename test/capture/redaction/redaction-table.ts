/**
 * What redaction finds and what it does not, one realistic shape a row. The kinds are listed in
 * docs/capture.md.
 *
 * Names and shapes: Sentry's server-side data scrubbing, Rails' `filter_parameters`, RFC 6749, 7521,
 * 7636, 8628 and 9449, OpenID Connect Core, SAML 2.0 bindings, the CAS protocol, gitleaks' rules.
 */
import type { ParameterSources } from '../../../src/capture/request/parameters.ts';

export interface Shape {
  readonly kind: string;
  /** What must not be seen. */
  readonly secret: string;
  readonly sources?: ParameterSources;
  readonly path?: string;
  /** Characters that are kept of a text. */
  readonly maxStringLength?: number;
}

const RANDOM = 'SplxlOBeZQQYbYS6WxSbIA';
const HEX = '5f4dcc3b5aa765d61d8327deb882cf99';
const UUID = '8f14e45f-ceea-467a-9a36-dedd4bea2543';
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl';
const WORD = 'sesame-open';

const query = (name: string, secret: string): Omit<Shape, 'kind'> => ({
  secret,
  sources: { query: { [name]: secret } },
});
const namesIn = (lines: readonly string[]): string[] => lines.join(' ').split(' ');
const text = (body: string, secret = WORD): Omit<Shape, 'kind'> => ({
  secret,
  sources: { other: { body } },
});
const rows = (kind: string, shapes: readonly Omit<Shape, 'kind'>[]): Shape[] =>
  shapes.map((shape) => ({ kind, ...shape }));

export const FOUND: readonly Shape[] = [
  ...rows('values of sensitive names', [
    ...namesIn([
      'password passwd pwd user[password] newPassword password_confirmation mysql_pwd',
      'passphrase PASSCODE pin client_secret clientSecret secrets api_key x-api-key apikey',
      'stripeToken access_token refresh_token id_token id_token_hint logout_token',
      'subject_token actor_token authenticity_token csrfmiddlewaretoken',
      '__RequestVerificationToken _csrf xsrf code_verifier device_code user_code assertion',
      'client_assertion SAMLResponse X-Amz-Security-Token X-Amz-Signature X-Amz-Credential',
      'X-Goog-Signature sig aws_secret_access_key private_key privatekey encryption_key',
      'ssh_key jwt auth Authorization bearer DPoP credentials cookie Set-Cookie session',
      'sessionId PHPSESSID JSESSIONID connect.sid sid otp totp mfa_code verification_code',
      'recovery_code sms_code reset_code card_number cc_number cvv cvc security_code iban',
      'account_number ssn',
    ]).map((name) => query(name, WORD)),
    { secret: WORD, sources: { json: { user: { password: { new: WORD } } } } },
  ]),
  ...rows(
    'sensitive names in other languages',
    namesIn([
      'passwort neuesPasswort kennwort senha nova_senha contraseña contrasena mot_de_passe',
      'motdepasse mdp wachtwoord lösenord passord adgangskode salasana hasło heslo jelszó şifre',
    ]).map((name) => query(name, WORD)),
  ),
  ...rows(
    'sensitive names in look-alike, full-width and invisible letters',
    namesIn(['pаssword раsswоrd ｐａｓｓｗｏｒｄ pass\u200bword tоken ѕecret pin\u00ad']).map(
      (name) => query(name, WORD),
    ),
  ),
  ...rows('random-looking values of ambiguous names', [
    ...[
      'code',
      'state',
      'nonce',
      'key',
      'ticket',
      'invite',
      'magic_link',
      'session_state',
      '',
    ].flatMap((name) => [query(name, RANDOM), query(name, HEX), query(name, UUID)]),
    query('code', '4/0AX4XfWhb7ZcQpR2vL9sT1uKmN'),
    query('ticket', 'ST-1856339-aA5Yuvrxzpv8Tau1cYQ7-cas01'),
    query('pgtIou', 'PGTIOU-84678-8a9d2sfas23casd'),
    query('SAMLart', 'AAQAAMFbLinlXaCM4FIxiDwGOLAy2T71gbpO7ZhNzAgEANlB90ECfpNEVLg='),
  ]),
  ...rows('the value beside its sensitive name: `{ "name": "password", "value": … }`', [
    { secret: WORD, sources: { json: { fields: [{ name: 'password', value: WORD }] } } },
    { secret: WORD, sources: { form: [{ key: 'api_key', value: WORD }] } },
    { secret: WORD, sources: { json: { Attributes: [{ Name: 'Password', Value: WORD }] } } },
    { secret: RANDOM, sources: { json: { parameters: [{ id: 'code', value: RANDOM }] } } },
  ]),
  ...rows('sensitive names within a text: forms, cookies, JSON, GraphQL arguments, XML', [
    text(`a=1&password=${WORD}&b=2`),
    text(`redirect=/cb?code=${RANDOM}&x=1`, RANDOM),
    text(`password=${WORD}&a=1`),
    text(`password=$(${WORD}&a=1`),
    text(`{"body":"password=${WORD}&a=1"}`),
    text(`{"url":"/cb?token=${WORD}"}`),
    text(`see https://shop.example/cb#access_token=${WORD} please`),
    text(`<a href="/cb?a=1&amp;token=${WORD}">`),
    text(`user=ada\npassword=${WORD}`),
    text(`Server=db;uid=sa;pwd=${WORD}`),
    text(`host=db user=ada password=${WORD}`),
    text(`GET /shop;jsessionid=${WORD}?a=1 HTTP/1.1`),
    text(`a=1%26password=${WORD}`),
    text(`user%5B${'a'.repeat(80)}%5D%5Bpassword%5D=${WORD}`),
    text(`Host: shop.example\r\nCookie: theme=dark; sid=${WORD}`),
    text(`Cookie: sid=${WORD}; theme=dark`),
    text(`sid=${WORD}; theme=dark`),
    text(`theme=dark; sid=${WORD}`),
    text(`Data Source=host;Initial Catalog=db;User ID=sa;Password=${WORD}`),
    text(`# config\nDB_PASSWORD=${WORD}`),
    text(`[db]\npassword=${WORD}`),
    text(`a=1\nb=two words\npassword=${WORD}`),
    text(`A='x' # it's quoted\r\n  password=${WORD}`),
    text(`X is not set\nDB_PASSWORD=${WORD}`),
    text(`theme=dark mode; session_token=${WORD}`),
    text(`_shop=YWJj--5f4d; theme=dark mode; sid=${WORD}`),
    text(`note=it's; password=${WORD}`),
    text(`level=info msg="login failed" password=${WORD}`),
    text(`level=info msg="id=5 is unknown" password=${WORD}`),
    text(`host='my db' password=${WORD}`),
    text(`export DB_PASSWORD=${WORD}`),
    text(`A=two words\nexport DB_PASSWORD=${WORD}`),
    text(`@echo off\r\nset DB_PASSWORD=${WORD}`),
    text(`SET PATH=C:\\bin\nSET API_KEY=${WORD}`),
    text(`FROM node:20\nENV API_KEY=${WORD}`),
    text(`FROM node:20\nARG NPM_TOKEN=${WORD}\nENV MODE=on API_KEY=${WORD}`),
    text(`{"user":{"password":"${WORD}"}}`),
    text(`{\\"apiKey\\":\\"${WORD}\\"}`),
    text(`{"code":"${RANDOM}"}`, RANDOM),
    text(`{'user': {'name': 'ada', 'password': '${WORD}', 'age': 7}}`),
    text(`{'password': "it's ${WORD}"}`),
    text(`{"log":"{\\'password\\': \\'${WORD}\\'}"}`),
    text(`login({ email: 'a@b.example', password: '${WORD}' })`),
    {
      secret: WORD,
      sources: {
        json: { query: `mutation { login(email: "a@b.example", password: "${WORD}") { id } }` },
      },
    },
    { secret: WORD, sources: { json: { query: 'mutation …', variables: { password: WORD } } } },
    text(`mutation { login(password: """${WORD} "and" ${WORD}""") { id } }`),
    text(`mutation { login(password: """a\\"""${WORD}""") { id } }`),
    text(`{"query":"mutation { login(password: \\"\\"\\"${WORD}\\"\\"\\") { id } }"}`),
    text(`{\\"apiKey\\":\\"a\\\\\\"${WORD}\\"}`),
    text(`<body>password=${WORD}</body>`),
    text(`<login><user>ada</user><password>${WORD}</password></login>`),
    text(`<wsse:Password Type="text">${WORD}</wsse:Password>`),
    text(`<secret><![CDATA[${WORD} & more]]></secret>`),
    text(`<user name="ada" password="${WORD}"/>`),
    text(`<add key='a' pwd='${WORD}'/>`),
    text(`<user name=ada role="an admin" password=${WORD}>`),
    text(`{"body":"<user role=\\"an admin\\" password=\\"${WORD}\\"/>"}`),
    text(`<user\r\n\tname="ada"\r\n\tpassword="${WORD}"/>`),
    { secret: WORD, path: `/password=${WORD}/a` },
  ]),
  ...rows('tokens and keys of a known form', [
    query('q', JWT),
    query('q', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
    query('q', ['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')),
  ]),
  ...rows('card numbers and IBANs with a valid checksum', [
    query('q', '3782 822463 10005'),
    { secret: '5555555555554444', sources: { json: { n: 5_555_555_555_554_444 } } },
    query('q', 'DE89370400440532013000'),
    query('q', 'GB29 NWBK 6016 1331 9268 19'),
    text('IBAN fr1420041010050500013m02606, danke', 'fr1420041010050500013m02606'),
    {
      // 200 secrets that shrink to their marks bring the cut behind the window into what is kept.
      secret: '411111111111',
      maxStringLength: 4096,
      sources: {
        other: {
          body: `${`pin=${'x'.repeat(52)}&`.repeat(88).padEnd(5107, '.')} 411111111111 1111`,
        },
      },
    },
  ]),
  ...rows('random-looking segments of a path behind a name: `/token/…`, `/verify-email/…`', [
    { secret: RANDOM, path: `/token/${RANDOM}` },
    { secret: HEX, path: `/verify-email/${HEX}/done` },
    { secret: UUID, path: `/reset-password/${UUID}` },
    { secret: RANDOM, path: `/invite/${RANDOM}` },
    { secret: RANDOM, path: `/auth/magic-link/${RANDOM}` },
  ]),
];

export const NOT_FOUND: readonly Shape[] = [
  ...rows('secrets of no known form under harmless names', [
    query('q', WORD),
    query('field_17', RANDOM),
    query('note', 'my password is sesame'),
  ]),
  ...rows('short values of ambiguous names: a six-digit `code`', [
    query('code', '493817'),
    query('state', 'xyz'),
  ]),
  ...rows('names in other scripts: `пароль`', [query('пароль', WORD), query('密码', WORD)]),
  ...rows('encoded or compressed texts, and secrets split over parameters', [
    query('data', Buffer.from(`password=${WORD}`).toString('base64')),
    query('body', `password%3D${WORD}`),
  ]),
  ...rows('prose and YAML within a text: `my password=sesame`, `password: sesame`', [
    text(`password: ${WORD}`),
    text(`my password=${WORD}, thank you`),
    text(`level=info msg=login failed password=${WORD}`),
    text(`debug on or\npassword=${WORD}`),
  ]),
  ...rows(
    'within a text, `{ "name": "password", "value": … }`, and pairs after SQL: `select 1; password=sesame`',
    [text(`{"name":"password","value":"${WORD}"}`), text(`select a from b; password=${WORD}`)],
  ),
];
