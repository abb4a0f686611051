/**
 * Shapes of secrets. Each is a `start` of bounded length, followed by characters of one class, so a
 * search never backtracks and is linear in any text. A test enforces that form.
 */

export interface SecretShape {
  readonly name: string;
  /** A regular expression without `*`, `+` and open ranges. */
  readonly start: string;
  /** One character class, such as `[\w-]`, or the literal text that ends the secret. */
  readonly rest: string | { readonly until: string };
  /** Whether the start stays visible, like `Bearer `. */
  readonly showsStart: boolean;
  /** `rest` is the text after the start, `next` the character after that. */
  readonly isSecret: (rest: string, next: string) => boolean;
}

const atLeast =
  (length: number) =>
  (rest: string): boolean =>
    rest.length >= length;

/** `name:password` in base64 (RFC 7617). Decodes only the first characters. */
const isBasicCredentials = (rest: string): boolean =>
  rest.length >= 4 && Buffer.from(rest.slice(0, 256), 'base64').includes(':');

const hasTwoDots = (rest: string): boolean => {
  const first = rest.indexOf('.');
  return first !== -1 && rest.indexOf('.', first + 1) !== -1;
};

/** Not inside a word or a number. */
const ALONE = '(?<![A-Za-z0-9])';
const GAP = '(?: |\\+|%20){1,3}';

const token = (
  name: string,
  prefix: string,
  [rest, isSecret]: readonly [rest: string, isSecret: SecretShape['isSecret']],
): SecretShape => ({ name, start: `${ALONE}${prefix}`, rest, showsStart: false, isSecret });

export const SECRET_SHAPES: readonly SecretShape[] = [
  {
    // To the END line, or to the end of the text.
    name: 'private key (PEM)',
    start: '-----BEGIN(?:[A-Z0-9 +]|%20){1,30}PRIVATE(?:[ +]|%20)KEY(?:[ +]BLOCK)?-----',
    rest: { until: '-----END' },
    showsStart: true,
    isSecret: atLeast(1),
  },
  {
    name: 'bearer token',
    start: `${ALONE}[Bb](?:earer|EARER)${GAP}`,
    rest: '[A-Za-z0-9._~+/=-]',
    showsStart: true,
    isSecret: atLeast(16),
  },
  {
    name: 'basic credentials',
    start: `${ALONE}[Bb](?:asic|ASIC)${GAP}`,
    rest: '[A-Za-z0-9+/=_-]',
    showsStart: true,
    isSecret: isBasicCredentials,
  },
  {
    // Signed or encrypted (RFC 7519): `{"` in base64url, and three or five parts.
    name: 'JSON Web Token',
    start: 'eyJ',
    rest: '[A-Za-z0-9_.-]',
    showsStart: false,
    isSecret: hasTwoDots,
  },
  {
    name: 'user information of a URL',
    start: '://',
    rest: '[^\\s/?#@"\'<>]',
    showsStart: true,
    isSecret: (rest, next) => next === '@' && rest.includes(':'),
  },
  // Prefixes of services' tokens.
  token('GitHub', '(?:gh[opsur]_|github_pat_)', ['\\w', atLeast(20)]),
  token('AWS access key id', 'A(?:KIA|SIA|BIA|CCA)', ['[A-Z0-9]', ({ length }) => length === 16]),
  token('Slack', '(?:xox[a-z]|xapp)-', ['[A-Za-z0-9-]', atLeast(10)]),
  token('Stripe', '(?:[spr]k_(?:live|test)_|whsec_)', ['[A-Za-z0-9+/=]', atLeast(16)]),
  token('OpenAI, Anthropic and others', 'sk-', ['[\\w-]', atLeast(20)]),
  token('Google', '(?:AIza|ya29\\.)', ['[\\w-]', atLeast(30)]),
  token(
    'GitLab, npm, PyPI, Hugging Face, Shopify, DigitalOcean, SendGrid',
    '(?:glpat-|npm_|pypi-|hf_|shp[acps][a-z]_|do[opr]_v1_|SG\\.)',
    ['[\\w.-]', atLeast(20)],
  ),
];
