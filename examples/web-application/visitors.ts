/** What the visitors of the shop do, the malicious one among them: real requests, one by one. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/products?search=shoes'],
  ['GET', `/products?search=${encodeURIComponent("' OR 'a'='a")}`],
  ['GET', `/products?search=${encodeURIComponent("x'; DROP TABLE users; --")}`],
  ['GET', `/manuals?page=${encodeURIComponent('../../etc/passwd')}`],
  ['POST', '/signup', { email: 'ada@example.com', password: 'a good one' }],
  ['POST', '/login', { email: 'ada@example.com', password: 'a guess' }],
  ['POST', '/orders', { product: 'shoes' }],
];

export async function visit(
  url: string,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<void> {
  for (const [method, path, body] of REQUESTS) {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status } = await fetch(url + path, { method, signal, ...init });
    tell(`visitor     ${status}: ${method} ${decodeURIComponent(path)}`);
  }
}
