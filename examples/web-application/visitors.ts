/** What visitors do, malicious ones among them: real requests, one by one. */

export interface Visit {
  /** Where the visitor sits: the proxy in front of the applications says so. */
  readonly from: string;
  readonly request: readonly [method: string, path: string, body?: object];
}

const SOMEBODY = '192.0.2.44';
const ATTACKER = '203.0.113.9';
const ACCOMPLICE = '198.51.100.7';

const TAUTOLOGY = encodeURIComponent("' OR 'a'='a");
const DROP_TABLE = encodeURIComponent("x'; DROP TABLE users; --");
const FOREIGN_FILE = encodeURIComponent('../../etc/passwd');
const EMAIL = 'ada@example.com';

export const SHOP_VISITS: readonly Visit[] = [
  { from: SOMEBODY, request: ['GET', '/products?search=shoes'] },
  { from: ATTACKER, request: ['GET', `/products?search=${TAUTOLOGY}`] },
  { from: ACCOMPLICE, request: ['GET', `/products?search=${DROP_TABLE}`] },
  { from: ATTACKER, request: ['GET', `/manuals?page=${FOREIGN_FILE}`] },
  { from: SOMEBODY, request: ['POST', '/signup', { email: EMAIL, password: 'a good one' }] },
  { from: SOMEBODY, request: ['POST', '/login', { email: EMAIL, password: 'a guess' }] },
  { from: SOMEBODY, request: ['POST', '/orders', { product: 'shoes' }] },
];

export const WAREHOUSE_VISITS: readonly Visit[] = [
  { from: SOMEBODY, request: ['POST', '/login?badge=1815'] },
  { from: SOMEBODY, request: ['GET', '/stock?item=shoes'] },
  { from: ATTACKER, request: ['GET', `/stock?item=${TAUTOLOGY}`] },
  { from: ACCOMPLICE, request: ['GET', `/stock?item=${DROP_TABLE}`] },
  { from: ATTACKER, request: ['GET', `/labels?file=${FOREIGN_FILE}`] },
];

export interface VisitOptions {
  readonly url: string;
  readonly visits: readonly Visit[];
  readonly signal: AbortSignal;
  /** Told of each answer. */
  readonly tell: (text: string) => void;
}

export async function visit({ url, visits, signal, tell }: VisitOptions): Promise<void> {
  for (const { from, request } of visits) {
    const [method, path, body] = request;
    const headers = { 'x-forwarded-for': from, 'content-type': 'application/json' };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status } = await fetch(url + path, { method, headers, signal, ...init });
    tell(`${status}: ${method} ${decodeURIComponent(path)}`);
  }
}
