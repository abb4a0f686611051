/**
 * Shapes of secrets. Each is a `start` of bounded length, followed by characters of one class, so a
 * search never backtracks and is linear in any text. A test enforces that form.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Yields the secrets of one kind in a text, in order and without overlap. */
export type Find = (text: string, isCut: boolean) => Iterable<Span>;

export interface Finder {
  /** Returns whether a text may contain any: a fast check that skips most texts. */
  readonly applies: (text: string, isCut: boolean) => boolean;
  /** Run in this order: each gets the text as the earlier ones have masked it. */
  readonly finds: readonly Find[];
}

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

/** `127.0.0.1:80@…`: an attack on parsers of URLs (server-side request forgery). */
const HOST_AND_PORT = /^[\w-]+\.[\w.-]+:(?:80|443|8080|8443)\W*$/;

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
    isSecret: (rest, next) => next === '@' && rest.includes(':') && !HOST_AND_PORT.test(rest),
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

/** Returns a function that finds the end of a secret from `from` on. One character class never backtracks. */
export function endFinder(rest: SecretShape['rest']): (text: string, from: number) => number {
  if (typeof rest === 'object') {
    return (text, from) => {
      const end = text.indexOf(rest.until, from);
      return end === -1 ? text.length : end;
    };
  }
  const sticky = new RegExp(`${rest}*`, 'y');
  return (text, from) => {
    sticky.lastIndex = from;
    return from + (sticky.exec(text)?.[0].length ?? 0);
  };
}

function shapeFinder({ start, rest, showsStart, isSecret }: SecretShape): Find {
  const starts = new RegExp(start, 'g');
  const endOf = endFinder(rest);
  return function* find(text, isCut) {
    starts.lastIndex = 0;
    for (let match = starts.exec(text); match !== null; match = starts.exec(text)) {
      const from = match.index + match[0].length;
      const end = endOf(text, from);
      // The cut may have shortened a secret.
      const isOpen = isCut && end === text.length;
      if (isOpen || isSecret(text.slice(from, end), text.charAt(end))) {
        yield { start: showsStart ? from : match.index, end };
      }
      starts.lastIndex = Math.max(end, from);
    }
  };
}

const KEY_LENGTH = 40;
const IN_KEY = /[A-Za-z0-9/+]/;
/** Neighbours that make it a longer token, a path or a file name. */
const BESIDE_LONGER = /[=_.-]/;
const isInKey = (text: string, at: number): boolean => IN_KEY.test(text.charAt(at));

/**
 * Finds secret access keys of AWS: 40 characters of base64, but not hexadecimal, like hashes. They have no
 * prefix. Tests every 40th character: each key contains one of these.
 */
function* awsSecretKeys(text: string): Generator<Span> {
  for (let at = KEY_LENGTH - 1; at < text.length; at += KEY_LENGTH) {
    if (!isInKey(text, at)) continue;
    let start = at;
    while (at - start < KEY_LENGTH && isInKey(text, start - 1)) start -= 1;
    let end = at + 1;
    while (end - start <= KEY_LENGTH && isInKey(text, end)) end += 1;
    if (end - start === KEY_LENGTH && isAwsKey(text, start, end)) yield { start, end };
  }
}

function isAwsKey(text: string, start: number, end: number): boolean {
  if (BESIDE_LONGER.test(text.charAt(start - 1)) || BESIDE_LONGER.test(text.charAt(end)))
    return false;
  const key = text.slice(start, end);
  return [/[a-z]/, /[A-Z]/, /[0-9]/].every((kind) => kind.test(key));
}

const ANY_START = new RegExp(SECRET_SHAPES.map(({ start }) => start).join('|'));

export const SHAPE_FINDER: Finder = {
  applies: (text) => ANY_START.test(text),
  finds: SECRET_SHAPES.map(shapeFinder),
};

export const AWS_KEY_FINDER: Finder = {
  applies: (text) => text.length >= KEY_LENGTH,
  finds: [awsSecretKeys],
};
