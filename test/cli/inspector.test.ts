import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { valueEntry } from '../../src/cli/inspector/entries.ts';
import { Inspector } from '../../src/cli/inspector.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { sampleMessage, sampleMessageV1 } from '../../src/testing/index.ts';
import { type Posted, post, postSigned } from '../helpers/http.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { listenOn } from '../helpers/servers.ts';
import { startCommand } from '../helpers/terminal.ts';
import { first, listen, SECRET, type Shown, stream } from './entry-stream.ts';

const BODY = JSON.stringify([sampleMessage()]);

const get = (url: string, headers: http.OutgoingHttpHeaders = {}): Promise<Posted> =>
  post(url, '', { method: 'GET', headers });

describe('the page', () => {
  it('consists of four files under a strict policy', async () => {
    const { page } = await listen();
    const found = await get(page);
    expect(found.status).toBe(200);
    expect(found.headers).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';.*require-trusted-types-for 'script'/,
      ),
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    const links = new Set(
      [...found.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link),
    );
    expect(links).toEqual(new Set(['inspector.svg', 'inspector.css', 'inspector.js']));
    for (const link of links) expect(await get(page + link)).toMatchObject({ status: 200 });
    expect(found.text).not.toMatch(/<style|style=|<script(?! type="module" src)| on\w+=/);
  });

  it.each([
    ['a wrong token', (page: string) => page.replace(/.\/$/, 'x/'), {}],
    ['no token', (page: string) => page.replace(/[^/]+\/$/, ''), {}],
    ['no slash at the end', (page: string) => page.replace(/\/$/, ''), {}],
    ['a rebound name', (page: string) => page, { host: 'evil.example:8080' }],
    ['a tunnel', (page: string) => page, { 'x-forwarded-for': '203.0.113.9' }],
    ['an unknown file', (page: string) => `${page}constructor`, {}],
  ])('is not found with %s', async (_, change, headers) => {
    const { page } = await listen();
    expect(await get(change(page), headers)).toMatchObject({ status: 404 });
  });

  it.each([
    ['203.0.113.9', 80, '127.0.0.1', 404],
    [undefined, 80, '127.0.0.1', 404],
    ['::ffff:127.0.0.1', 80, '127.0.0.1', 200],
    ['::1', 80, '[::1]', 200],
    ['127.0.0.1', 80, 'localhost', 200],
    ['127.0.0.1', 80, '127.0.0.1:81', 404],
  ])('is served to %s on port %i as %s: %i', (remoteAddress, localPort, host, expected) => {
    const inspector = new Inspector({ clock: systemClock, secrets: [] });
    const { pathname: url } = new URL(inspector.publishAt('http://x/', { source: '', hint: '' }));
    const response = { statusCode: 200, setHeader: () => undefined, end: () => undefined };
    const socket = { remoteAddress, localPort };
    const request = { url, method: 'GET', headers: { host }, socket, resume: () => undefined };
    const isHandled = inspector.handle(
      request as unknown as http.IncomingMessage,
      response as unknown as http.ServerResponse,
    );
    expect([isHandled, response.statusCode]).toEqual([true, expected]);
  });

  it('leaves the webhook endpoint alone', async () => {
    const { url, page } = await listen();
    expect(await postSigned(url, BODY, SECRET)).toMatchObject({ status: 204 });
    expect(await postSigned(`${url}_inspectors`, BODY, SECRET)).toMatchObject({ status: 204 });
    expect((await stream(page).entries(2)).map(({ label }) => label)).toEqual(['#1', '#2']);
  });

  it('has its address in the first line of --json', async () => {
    const command = startCommand(['listen', '--port', '0', '--ui', '--json']);
    const [line] = await command.output(/.*\n/);
    const page = expect.stringMatching(/\/_inspector\/\w{32}\/$/);
    expect(JSON.parse(line)).toMatchObject({ page });
  });
});

describe('a request on the page', () => {
  it('is shown with title, subtitle, route and facts', async () => {
    const { url, page } = await listen();
    await postSigned(url, BODY, SECRET);
    expect(await first(page)).toMatchObject({
      label: '#1',
      verdict: 'verified',
      reason: 'Verified',
      title: 'SQL injection from 203.0.113.9',
      subtitle: 'shop-1 · security_event',
      attempt: 1,
      status: 204,
      facts: [
        ['request', 'POST /'],
        ['answer', '204'],
        ['attempt', '1'],
        ['size', `${BODY.length} bytes`],
      ],
      issues: [],
      messages: [
        {
          type: 'security_event',
          application: 'shop-1',
          route: ['203.0.113.9', 'shop-1, shop, production'],
          badges: ['security_event', 'injection / sql_injection'],
        },
      ],
    });
  });

  it('says which attempt it is, and that its messages were repeated', async () => {
    const { url, page } = await listen();
    await postSigned(url, BODY, SECRET);
    await postSigned(url, JSON.stringify([sampleMessage(undefined, { retry_count: 2 })]), SECRET);
    const [, again] = await stream(page).entries(2);
    expect(again).toMatchObject({ attempt: 3 });
    expect(again?.messages[0]?.['badges']).toContain('repeated');
  });

  it('has the contract issues, and counts those that are not shown', async () => {
    const { url, page } = await listen();
    const wrong = { ...sampleMessage(), retry_count: 'two' };
    await postSigned(url, `[${Array(205).fill(JSON.stringify(wrong)).join()}]`, SECRET);
    const entry = await first(page);
    expect([entry.issues.length, entry['moreIssues']]).toEqual([200, 5]);
    const subtitle = '0.retry_count: expected a number';
    expect(entry).toMatchObject({ verdict: 'invalid', subtitle });
    const issue = { path: '0.retry_count', expected: 'a number', found: 'a string' };
    expect(entry.issues[0]).toEqual(issue);
  });

  it('says why it was refused, and shows its messages', async () => {
    const { url, page } = await listen();
    await postSigned(url, BODY, 'another secret');
    const { advice, ...entry } = await first(page);
    expect(entry).toMatchObject({
      verdict: 'refused',
      reason: 'Refused: the signature does not match',
      title: 'SQL injection from 203.0.113.9',
    });
    expect(advice).toEqual([expect.stringContaining('secret'), expect.stringContaining('Anyone')]);
  });

  it('may have no messages, another format, and no attempt', async () => {
    const { url, page } = await listen();
    await post(url, '', { method: 'GET' });
    await postSigned(url, Buffer.from([0xff]), SECRET);
    await postSigned(url, JSON.stringify([sampleMessageV1()]), SECRET);
    const [gotten, binary, older] = await stream(page).entries(3);
    const title = 'Refused: not a POST';
    expect(gotten).toMatchObject({ verdict: 'refused', title, subtitle: 'GET /' });
    expect(binary).toMatchObject({ verdict: 'invalid', body: '/w==', encoding: 'base64' });
    expect(older?.messages[0]?.['badges']).toContain('format 1');
    for (const { attempt, facts } of [gotten, binary, older] as Shown[]) {
      expect(attempt).toBeUndefined();
      expect(facts).not.toContainEqual(['attempt', expect.anything()]);
    }
  });

  it('shows a hundred messages and counts the rest', async () => {
    const { url, page } = await listen();
    const messages = Array(103).fill(sampleMessage());
    await postSigned(url, JSON.stringify(messages), SECRET);
    expect(await first(page)).toMatchObject({ moreMessages: 3, subtitle: 'shop-1 · 103 messages' });
  });

  it('never holds a secret', async () => {
    const { url, page } = await listen();
    const body = JSON.stringify([sampleMessage(undefined, { message: { event_id: SECRET } })]);
    await postSigned(`${url}?access_token=hunter2&page=3`, body, SECRET, {
      authorization: 'Bearer hunter2',
      cookie: 'session=hunter2',
      'x-note': `it is ${SECRET}`,
    });
    const entry = await first(page);
    expect(JSON.stringify(entry)).not.toMatch(/hunter2|secret-of-the-test/);
    expect(entry['headers']).toContainEqual(['authorization', 'hidden, 14 characters']);
    expect(entry['source']).toBe('POST /?access_token=…&page=3');
    expect(entry['curl']).toBe('');
    expect(entry['advice']).toContainEqual(expect.stringContaining('cannot be copied as curl'));
    await postSigned(url, Buffer.from([0xff, ...Buffer.from(SECRET)]), SECRET);
    const [, binary] = await stream(page).entries(2);
    const hidden = '(hidden: it contains the secret)';
    expect(binary).toMatchObject({ body: hidden, encoding: 'text', curl: '' });
    await postSigned(`${url}?secret=${SECRET}`, BODY, SECRET);
    const [, , inQuery] = await stream(page).entries(3);
    expect(JSON.stringify(inQuery)).not.toContain(SECRET);
    expect(inQuery).toMatchObject({ body: BODY, curl: '' });
  });

  it('has a curl command for exactly the same request, also with credentials in its URL', async () => {
    const { url, page } = await listen();
    const headers = { 'content-encoding': 'br' };
    await postSigned(`${url}?access_token=hunter2&page=3`, BODY, SECRET, headers);
    const entry = await first(page);
    expect(entry['source']).toBe(`POST /?access_token=…&page=3`);
    expect(entry['curl']).toContain(` '${url}?access_token=hunter2&page=3'`);
    expect(entry['curl']).toContain("-H 'content-encoding: br'");
  });
});

describe('the stream', () => {
  it('sends the kept entries in order, and continues after the last id', async () => {
    const { url, page } = await listen();
    for (let count = 0; count < 3; count += 1) await postSigned(url, BODY, SECRET);
    const all = await stream(page).entries(3);
    expect(all.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    const [third] = await stream(page, { 'last-event-id': '2' }).entries(1);
    expect(third).toMatchObject({ sequence: 3 });
    const [again] = await stream(page, { 'last-event-id': 'none' }).entries(1);
    expect(again).toMatchObject({ sequence: 1 });
  });

  it.each([
    ['1000 entries', 1005, 10, 1000],
    ['32 MiB', 20, 2 ** 21, 15],
  ])('keeps the last %s', async (_, count, length, kept) => {
    const inspector = new Inspector({ clock: systemClock, secrets: [] });
    const port = await listenOn(http.createServer((...given) => void inspector.handle(...given)));
    const page = inspector.publishAt(`http://127.0.0.1:${port}/`, { source: '', hint: '' });
    const entry = valueEntry({ file: 'f', line: 1, value: [sampleMessage()], text: '[]' }, 0);
    for (let at = 0; at < count; at += 1) inspector.add({ ...entry, body: 'x'.repeat(length) });
    const shown = await stream(page).entries(kept);
    expect(shown.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: kept }, (_none, at) => count - kept + at + 1),
    );
  });

  it('reports that the list was cleared', async () => {
    const { url, page } = await listen();
    await postSigned(url, BODY, SECRET);
    const events = stream(page);
    await events.entries(1);
    expect(await post(`${page}clear`, '')).toMatchObject({ status: 403 });
    const evil = { headers: { origin: 'http://evil.example' } };
    expect(await post(`${page}clear`, '', evil)).toMatchObject({ status: 403 });
    expect(await act(page, 'clear')).toMatchObject({ status: 204 });
    await events.has('event: clear\n');
    await postSigned(url, BODY, SECRET);
    expect(await first(page)).toMatchObject({ sequence: 2 });
  });
});

/** POSTs to a path of the page as its script does. */
const act = (page: string, path: string): Promise<Posted> =>
  post(page + path, '', { headers: { origin: new URL(page).origin } });

describe('sending again', () => {
  it('forwards the same bytes and headers', async () => {
    const target = await startReceiver();
    const { url, page } = await listen('--forward', target.url);
    await postSigned(url, BODY, SECRET);
    expect(await first(page)).toMatchObject({ isResendable: true });
    const answer = await act(page, 'resend/1');
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.text).toMatch(/^127\.0\.0\.1:\d+: answered 2\d\d after \d+ ms\.$/);
    expect(target.requests.map(({ body }) => String(body))).toEqual([BODY, BODY]);
    await target.close();
    expect((await act(page, 'resend/1')).text).toContain('ECONNREFUSED');
  });

  it('needs a verified request that is kept, and --forward', async () => {
    const target = await startReceiver();
    const forwarding = await listen('--forward', target.url);
    await postSigned(forwarding.url, BODY, 'another secret');
    expect(await first(forwarding.page)).toMatchObject({ isResendable: false });
    expect(await act(forwarding.page, 'resend/1')).toMatchObject({ status: 404 });
    const { url, page } = await listen();
    await postSigned(url, BODY, SECRET);
    expect(await first(page)).toMatchObject({ isResendable: false });
    expect(await act(page, 'resend/1')).toMatchObject({ status: 404 });
    expect(await act(page, 'other')).toMatchObject({ status: 404 });
  });
});
