/**
 * What gives a secret away by its looks. Each shape is a `start` of bounded length and one class of
 * characters that it goes on with, so a search never goes back: the work is linear in the text
 * whatever the text is. A test holds the table to that form.
 */

export interface SecretShape {
  readonly name: string;
  /** A regular expression without `*`, `+` and open ranges. */
  readonly start: string;
  /** One character class, such as `[\w-]`, or the literal text before which the secret ends. */
  readonly rest: string | { readonly until: string };
  /** Whether the start is shown: `Bearer ` and the like tell what was there. */
  readonly showsStart: boolean;
  /** `rest` is what followed the start, `next` the character after it. */
  readonly isSecret: (rest: string, next: string) => boolean;
}

const atLeast =
  (length: number) =>
  (rest: string): boolean =>
    rest.length >= length;

/** A base64 `name:password` (RFC 7617); its beginning is enough to know. */
const isBasicCredentials = (rest: string): boolean =>
  rest.length >= 4 && Buffer.from(rest.slice(0, 256), 'base64').includes(':');

const hasTwoDots = (rest: string): boolean => {
  const first = rest.indexOf('.');
  return first !== -1 && rest.indexOf('.', first + 1) !== -1;
};

/** Not within a word or a number. */
const ALONE = '(?<![A-Za-z0-9])';
const GAP = '(?: |\\+|%20){1,3}';

export const SECRET_SHAPES: readonly SecretShape[] = [
  {
    // To the END line, or to the end of the text where there is none.
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
  {
    name: 'GitHub token',
    start: `${ALONE}(?:gh[opsur]_|github_pat_)`,
    rest: '\\w',
    showsStart: false,
    isSecret: atLeast(20),
  },
  {
    name: 'AWS access key id',
    start: `${ALONE}A(?:KIA|SIA|BIA|CCA)`,
    rest: '[A-Z0-9]',
    showsStart: false,
    isSecret: (rest) => rest.length === 16,
  },
  {
    name: 'Slack token',
    start: `${ALONE}(?:xox[a-z]|xapp)-`,
    rest: '[A-Za-z0-9-]',
    showsStart: false,
    isSecret: atLeast(10),
  },
  {
    name: 'Stripe key',
    start: `${ALONE}(?:[spr]k_(?:live|test)_|whsec_)`,
    rest: '[A-Za-z0-9+/=]',
    showsStart: false,
    isSecret: atLeast(16),
  },
  {
    name: 'key of OpenAI, Anthropic and others',
    start: `${ALONE}sk-`,
    rest: '[\\w-]',
    showsStart: false,
    isSecret: atLeast(20),
  },
  {
    name: 'Google API key or access token',
    start: `${ALONE}(?:AIza|ya29\\.)`,
    rest: '[\\w-]',
    showsStart: false,
    isSecret: atLeast(30),
  },
  {
    name: 'token of GitLab, npm, PyPI, Hugging Face, Shopify, DigitalOcean or SendGrid',
    start: `${ALONE}(?:glpat-|npm_|pypi-|hf_|shp[acps][a-z]_|do[opr]_v1_|SG\\.)`,
    rest: '[\\w.-]',
    showsStart: false,
    isSecret: atLeast(20),
  },
];
