/** The constant headers of a request. undici adds `Content-Length`, and each attempt its signature. */
import { invalidOption } from '../option-rules.ts';
import { PACKAGE_VERSION } from './version.generated.ts';

export const SIGNATURE_HEADER = 'X-Svc-Integrity';

/** Why a header cannot be set, by its name in lower case. */
const RESERVED: ReadonlyMap<string, string> = new Map([
  ...['content-type', 'content-length', SIGNATURE_HEADER.toLowerCase()].map(
    (name) => [name, 'is part of the contract and cannot be changed'] as const,
  ),
  ...['connection', 'expect', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'].map(
    (name) => [name, 'belongs to the connection'] as const,
  ),
]);

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** RFC 9110 section 5.5. A line break would start another header or request. */
const FIELD_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

export interface HeaderOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly userAgent?: string | undefined;
}

/**
 * Returns the headers of every request to a destination, without the signature.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the header.
 */
export function requestHeaders({ headers = {}, userAgent }: HeaderOptions): Record<string, string> {
  const given = Object.entries(headers);
  const seen = new Set<string>();
  for (const [name, value] of given) {
    const fault = faultOf(name, value, seen);
    if (fault !== undefined) throw invalidOption(fault, ['headers', name]);
    seen.add(name.toLowerCase());
  }
  if (userAgent !== undefined) {
    if (!isFieldValue(userAgent) || userAgent === '') {
      throw invalidOption('expected userAgent to be the text of a header', ['userAgent']);
    }
    if (seen.has('user-agent')) {
      throw invalidOption('the header is given twice, as userAgent too', ['headers', 'user-agent']);
    }
  }
  const agent = seen.has('user-agent') ? {} : { 'User-Agent': userAgent ?? DEFAULT_USER_AGENT };
  return { 'Content-Type': 'application/json', ...agent, ...Object.fromEntries(given) };
}

/** Never includes the value, which may be a credential. */
function faultOf(name: string, value: unknown, seen: ReadonlySet<string>): string | undefined {
  if (!TOKEN.test(name)) return 'the name of a header must be a token';
  const reserved = RESERVED.get(name.toLowerCase());
  if (reserved !== undefined) return `the header ${name} ${reserved}`;
  if (seen.has(name.toLowerCase())) return `the header ${name} is given twice`;
  if (!isFieldValue(value)) return `expected the header ${name} to be one line of Latin-1 text`;
  return undefined;
}

function isFieldValue(value: unknown): boolean {
  return typeof value === 'string' && FIELD_VALUE.test(value);
}

export const DEFAULT_USER_AGENT = `security-event-delivery/${PACKAGE_VERSION}`;
