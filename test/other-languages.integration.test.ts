/**
 * The receivers that docs/other-languages.md links to get what this library sends over a real socket,
 * and requests that they must refuse.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendWebhook, sign } from '../src/index.ts';
import { sampleMessage, sampleMessageToSend, sampleMessageV1 } from '../src/testing/index.ts';
import { ask } from './helpers/hosts.ts';
import {
  isAvailable,
  LANGUAGES,
  LanguageReceiver,
  pageReceivers,
} from './helpers/language-receivers.ts';

const SECRET = 'the new secret \u{1f511}';
const OLD_SECRET = 'the old secret';
const ENV = { SECURITY_EVENTS_SECRET: SECRET, SECURITY_EVENTS_OLD_SECRET: OLD_SECRET };
const NO_SECRETS = { SECURITY_EVENTS_SECRET: '', SECURITY_EVENTS_OLD_SECRET: '' };

const MAX_BODY_BYTES = 2 * 1024 * 1024;
const once = { network: 'allow-private', schedule: { delaysMs: [] } } as const;

const BODY = JSON.stringify([sampleMessage('test', { message_id: 'by-hand' })]);
const padded = (bytes: number): string => BODY + ' '.repeat(bytes - BODY.length);

const manyMessages = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, () => ({ message_type: 'unheard' })));

/** Also pairs, and an escaped backslash before the text of one. */
const LONE_SURROGATES =
  '[{"message_id":"lone","a":"\\ud800","b":"\\udc00\\uD83D\\uDE00","c":"\\\\ud800","d":"\\ud800\\ud83d\\ude00"}]';

interface OddRequest {
  readonly method?: string;
  readonly body?: string | Uint8Array;
  readonly signature?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends the body without Content-Length, as some proxies do. */
  readonly isChunked?: boolean;
}

/** Requests that our sender never makes, and the status of the response. */
const ODD_REQUESTS: readonly [string, OddRequest, number][] = [
  ['is signed as it should be', {}, 204],
  ['names its charset', { headers: { 'content-type': 'application/json; charset="UTF-8"' } }, 204],
  ['has a type in capitals', { headers: { 'content-type': 'Application/JSON' } }, 204],
  ['has lone surrogates', { body: LONE_SURROGATES }, 204],
  ['says that it is not encoded', { headers: { 'content-encoding': 'Identity' } }, 204],
  ['has half an escape', { body: String.raw`[{"a":"\ud80"}]` }, 400],
  ['is chunked', { isChunked: true }, 204],
  ['is chunked and as large as may be', { isChunked: true, body: padded(MAX_BODY_BYTES) }, 204],
  ['is chunked and too large', { isChunked: true, body: padded(MAX_BODY_BYTES + 1) }, 413],
  ['is chunked without a signature', { isChunked: true, signature: null }, 401],
  ['is as large as may be', { body: padded(MAX_BODY_BYTES) }, 204],
  ['is a byte too large', { body: padded(MAX_BODY_BYTES + 1) }, 413],
  ['is a question', { method: 'GET', body: '' }, 405],
  ['replaces', { method: 'PUT' }, 405],
  ['is a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415],
  ['has another charset', { headers: { 'content-type': 'application/json;charset=utf-16' } }, 415],
  ['is compressed', { body: gzipSync(BODY), headers: { 'content-encoding': 'gzip' } }, 415],
  ['has no signature', { signature: null }, 401],
  ['has a wrong signature', { signature: '0'.repeat(64) }, 401],
  ['has a signature in upper case', { signature: sign(BODY, SECRET).toUpperCase() }, 401],
  ['has a signature with a prefix', { signature: `sha256=${sign(BODY, SECRET)}` }, 401],
  ['has a short signature', { signature: sign(BODY, SECRET).slice(1) }, 401],
  ['has a signature beyond ASCII', { signature: '\u00e9'.repeat(64) }, 401],
  ['has the signature of another body', { signature: sign(`${BODY} `, SECRET) }, 401],
  ['has no body', { body: '' }, 400],
  ['is no JSON', { body: '[{' }, 400],
  ['is not UTF-8', { body: Buffer.from('[{"a":"\u00ff"}]', 'latin1') }, 400],
  ['begins with a byte order mark', { body: `\ufeff${BODY}` }, 400],
  ['is an object', { body: '{}' }, 400],
  ['is an object like a list', { body: '{"0":{}}' }, 400],
  ['is an empty array', { body: '[]' }, 400],
  ['has 1000 messages', { body: manyMessages(1000) }, 204],
  ['has more than 1000 messages', { body: manyMessages(1001) }, 400],
  ['has a message that is null', { body: '[null]' }, 400],
  ['has a message that is a text', { body: '[{"a":1},"b"]' }, 400],
  ['has a message that is an array', { body: '[{"a":1},["b"]]' }, 400],
  ['is nested without end', { body: '['.repeat(100_000) }, 400],
];

function post(origin: string, { method = 'POST', body = BODY, ...odd }: OddRequest) {
  const { signature = sign(body, SECRET), headers = {}, isChunked = false } = odd;
  const signed = signature === null ? {} : { 'x-svc-integrity': signature };
  const length = isChunked
    ? { 'transfer-encoding': 'chunked' }
    : { 'content-length': String(Buffer.byteLength(body)) };
  return ask(origin, '/', 'http', {
    method,
    headers: { 'content-type': 'application/json', ...length, ...signed, ...headers },
    body,
  });
}

it('the page has a receiver in each language that is run here, and no other', () => {
  expect(pageReceivers().toSorted()).toEqual(LANGUAGES.map(({ file }) => file).toSorted());
});

describe.each(LANGUAGES)('the receiver in $language', (language) => {
  describe.skipIf(!isAvailable(language))('once it is started', () => {
    let receiver: LanguageReceiver;
    beforeAll(async () => {
      receiver = await LanguageReceiver.start(language, ENV);
    });
    afterAll(() => receiver.close());

    it('takes both formats and each kind of id from the sender, with the new and the old secret', async () => {
      const url = `${receiver.origin}/hooks`;
      const messages = [
        sampleMessageToSend('security_event', { message_id: 'event-of-v2' }),
        sampleMessageToSend('account_takeover', { message_id: 'takeover-of-v2' }),
      ];
      const elements = [
        sampleMessageV1('security_event', { event_id: 'event-of-v1' }),
        sampleMessageV1('pulse', { id: 'pulse-of-v1' }),
      ];
      const ofV2 = await sendWebhook({ url, secret: SECRET }, messages, once);
      const ofV1 = await sendWebhook({ url, secret: OLD_SECRET }, elements, { ...once, format: 1 });
      expect([ofV2, ofV1].map(({ requests }) => requests.map(({ status }) => status))).toEqual([
        [204],
        [204],
      ]);
      await receiver.untilPrinted('security_event event-of-v2');
      await receiver.untilPrinted('account_takeover takeover-of-v2');
      await receiver.untilPrinted('security_event event-of-v1');
      await receiver.untilPrinted('pulse pulse-of-v1');
    });

    it('takes messages that are nested as deeply as the contract allows', async () => {
      let deep: object = {};
      for (let level = 1; level < 500; level += 1) deep = { deep };
      const message = sampleMessageToSend('security_response', {
        message_id: 'deep',
        message: { properties: { user_identifiers: [deep as Record<string, never>] } },
      });
      const { ok } = await sendWebhook({ url: receiver.origin, secret: SECRET }, [message], once);
      expect(ok).toBe(true);
      await receiver.untilPrinted('security_response deep');
    });

    it('refuses another secret, and a body that is too large', async () => {
      const url = receiver.origin;
      const wrong = await sendWebhook({ url, secret: 'other' }, [sampleMessageToSend()], once);
      expect(wrong.requests.map(({ status }) => status)).toEqual([401]);
      const humanized_description = 'x'.repeat(MAX_BODY_BYTES);
      const large = sampleMessageToSend('security_event', { message: { humanized_description } });
      const options = { ...once, maxBodyBytes: 2 * MAX_BODY_BYTES };
      const refused = await sendWebhook({ url, secret: SECRET }, [large], options);
      expect(refused.requests.map(({ status }) => status)).toEqual([413]);
    });

    it.each(ODD_REQUESTS)('a request that %s', async (_what, odd, status) => {
      const answer = await post(receiver.origin, odd);
      expect(answer.status).toBe(status);
      expect(answer.headers['allow']).toBe(status === 405 ? 'POST' : undefined);
    });

    it('replaces lone surrogates from the sender, and changes no other escape', async () => {
      const url = receiver.origin;
      const message = sampleMessageToSend('security_response', {
        message_id: 'lone',
        message: { properties: { user_identifiers: [{ username: 'bob\ud800' }] } },
      });
      expect((await sendWebhook({ url, secret: SECRET }, [message], once)).ok).toBe(true);
      await receiver.untilPrinted('security_response lone');
      const body = String.raw`[{"message_type":"t","message_id":"\ud800 \\ud800 \\\ud800."}]`;
      expect((await post(url, { body })).status).toBe(204);
      // Python keeps lone surrogates, and prints them escaped.
      const replaced = language.language === 'python' ? String.raw`\ud800` : '\ufffd';
      await receiver.untilPrinted(`t ${replaced} \\ud800 \\${replaced}.`);
    });

    it('passes on no message of a refused request', async () => {
      const message = sampleMessage('test', { message_id: 'never-seen' });
      const body = JSON.stringify([message]);
      expect((await post(receiver.origin, { body, signature: '0'.repeat(64) })).status).toBe(401);
      const last = JSON.stringify([sampleMessage('test', { message_id: 'seen-last' })]);
      expect((await post(receiver.origin, { body: last })).status).toBe(204);
      await receiver.untilPrinted('seen-last');
      expect(receiver.printed).not.toContain('never-seen');
      expect(receiver.printed).not.toContain(SECRET);
    });
  });

  it.runIf(isAvailable(language))('does not run without a secret', async () => {
    const outcome = await LanguageReceiver.start(language, NO_SECRETS).then(
      async (receiver) => {
        const { status } = await post(receiver.origin, {});
        await receiver.close();
        return `answers ${status}`;
      },
      () => 'ends',
    );
    // PHP runs the program for each request.
    expect(outcome).toBe(language.language === 'php' ? 'answers 500' : 'ends');
  });
});
