/** Forwards a request with the same body and signature, and returns the answer. */
import { once } from 'node:events';
import http, {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import https from 'node:https';
import type { TerminalClock } from '../terminal.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The headers that receivers read. */
const FORWARDED_HEADERS = ['content-type', 'user-agent', 'x-svc-integrity'];
/** The headers of an answer that senders read. */
const ANSWER_HEADERS = ['location', 'retry-after'];
/** Less than the 15 s for which senders wait, so that they get the answer. */
const DEADLINE_MS = 14_000;

export interface Forwarding {
  readonly to: URL;
  /** Identifies this listener in the `via` header. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly clock: TerminalClock;
}

export interface Forwarded {
  readonly answer: Answer;
  /** Why the target did not answer. */
  readonly failure?: string;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const pick = (headers: Headers, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );

/** RFC 5842, section 7.2 */
const LOOP: Forwarded = {
  answer: { status: 508, headers: {}, text: 'loop\n' },
  failure: 'it came from here',
};

const failed = (failure: string): Forwarded => ({
  answer: { status: 502, headers: {}, text: 'not-forwarded\n' },
  failure,
});

const post = (to: URL, options: RequestOptions, body: Buffer): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { request } = to.protocol === 'https:' ? https : http;
    // Without an agent: an idle connection would keep the process alive.
    const sent = request(to, { ...options, method: 'POST', agent: false }, resolve);
    sent.on('error', reject).end(body);
  });

/** Does not follow redirects. Never rejects: 502 if the target does not answer. */
export async function forward(
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: Buffer },
  { to, name, signal, clock }: Forwarding,
): Promise<Forwarded> {
  // Each forwarder recognises its own requests by `via`: RFC 9110, section 7.6.3.
  const via = headers.via === undefined ? [] : [headers.via].flat();
  if (via.some((value) => value.includes(name))) return LOOP;
  const ended = new AbortController();
  void clock.sleep(DEADLINE_MS, ended.signal).then(() => ended.abort());
  const sent = {
    ...pick(headers, FORWARDED_HEADERS),
    via: [...via, `1.1 ${name}`].join(', '),
    'content-length': body.length,
  };
  try {
    const anySignal = AbortSignal.any([signal, ended.signal]);
    const response = await post(to, { headers: sent, signal: anySignal }, body);
    const { statusCode: status = 0 } = response;
    response.resume();
    await once(response, 'close').catch(() => undefined);
    // Node accepts such a status in a response, but refuses to send one.
    if (status < 200) return failed(`status ${status}`);
    return { answer: { status, headers: pick(response.headers, ANSWER_HEADERS), text: '' } };
  } catch (error) {
    const { code = '', name: kind } = error as NodeJS.ErrnoException;
    return failed(ended.signal.aborted ? 'timeout' : code || kind);
  } finally {
    ended.abort();
  }
}
