/** Bodies that a host passes on as text or bytes: no secret in them may reach a record. */
import { describe, expect, test } from 'vitest';
import * as lambdaAdapter from '../../../src/capture/adapters/lambda.ts';
import { createRequestCapture } from '../../../src/capture/index.ts';
import { ATTACK, openReporter } from '../../reporter/open-reporter.ts';

interface Sent {
  /** Has the content type, or nothing. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Serves one request whose body is not parsed, and calls `report` while it is served. */
type Serve = (sent: Sent, report: () => void) => Promise<unknown>;

const hostWith =
  (read: (body: string) => unknown): Serve =>
  async ({ headers, body }, report) =>
    createRequestCapture().run({ headers, url: '/', body: read(body) }, report);

const lambdaWith =
  (encoding: 'utf8' | 'base64'): Serve =>
  ({ headers, body }, report) => {
    const event = {
      rawPath: '/',
      rawQueryString: '',
      headers,
      requestContext: { http: { method: 'POST', sourceIp: '203.0.113.9' } },
      body: Buffer.from(body).toString(encoding),
      isBase64Encoded: encoding === 'base64',
    };
    const context = { getRemainingTimeInMillis: () => 1000 };
    return lambdaAdapter.captureRequests(report)(event, context);
  };

const HOSTS: Readonly<Record<string, Serve>> = {
  'a host with text': hostWith((body) => body),
  'a host with bytes': hostWith((body) => Buffer.from(body)),
  'Lambda with text': lambdaWith('utf8'),
  'Lambda with base64': lambdaWith('base64'),
};

const SECRET = 'hunter2';

const part = (name: string, value: string): string =>
  `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const MULTIPART = `${part('password', SECRET)}${part('note', `password=${SECRET}`)}--x--\r\n`;
const XML = `<a password="${SECRET}">\n<password>${SECRET}</password>\npassword=${SECRET}\n</a>`;
const LINES = `password=${SECRET}\nuser=jane&password=${SECRET}`;
const JSON_TEXT = JSON.stringify({ password: SECRET });

const BODIES: readonly (readonly [type: string | undefined, body: string])[] = [
  ['multipart/form-data; boundary=x', MULTIPART],
  ['multipart/form-data', LINES],
  ['multipart/mixed; boundary=x', MULTIPART],
  ['text/plain', LINES],
  ['text/plain; charset=utf-8', JSON_TEXT],
  ['application/xml', XML],
  [undefined, LINES],
  [undefined, XML],
  [undefined, JSON_TEXT],
  ['application/x-www-form-urlencoded', LINES.replace('\n', '&')],
  ['application/x-www-form-urlencoded', JSON_TEXT],
  ['application/json', JSON_TEXT],
  ['application/json', LINES],
];

describe.each(Object.entries(HOSTS))('A record of a request of %s', (_host, serve) => {
  test.each(BODIES)('has no secret of an unparsed body: %s, %j', async (type, body) => {
    const { reporter, sink, records } = openReporter();
    const headers: Sent['headers'] = type === undefined ? {} : { 'content-type': type };
    await serve({ headers, body }, () => void reporter.attack(ATTACK));
    expect(records()).toMatchObject([{ context: { http: { request: { path: '/' } } } }]);
    expect(sink.lines.join('')).not.toContain(SECRET);
  });
});
