/** Forwards a request unchanged, and returns the answer. */
import { request as post } from 'undici';
import type { TerminalClock } from '../terminal.ts';
import type { Answer, ReceivedRequest } from './receive.ts';

const FORWARDED_HEADERS = ['content-type', 'user-agent', 'x-svc-integrity'];
/** The headers of an answer that a sender uses. */
const ANSWER_HEADERS = ['location', 'retry-after'];
const MAX_ANSWER_BYTES = 65_536;
/** Shorter than senders wait (15 s), so that they get the answer. */
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

/** Does not follow redirects. Never rejects: 502 if the target does not answer. */
export async function forward(
  { headers, body }: Pick<ReceivedRequest, 'headers' | 'body'>,
  { to, name, signal, clock }: Forwarding,
): Promise<Forwarded> {
  // Each forwarder recognises its own requests by `via`: RFC 9110, section 7.6.3.
  const via = headers.via === undefined ? [] : [headers.via].flat();
  if (via.some((value) => value.includes(name))) return LOOP;
  const ended = new AbortController();
  const deadline = new AbortController();
  void clock.sleep(DEADLINE_MS, ended.signal).then(() => deadline.abort());
  try {
    const response = await post(to, {
      method: 'POST',
      headers: { ...pick(headers, FORWARDED_HEADERS), via: [...via, `1.1 ${name}`].join(', ') },
      body,
      // A connection that is kept alive would keep the program alive.
      reset: true,
      signal: AbortSignal.any([signal, deadline.signal]),
    });
    const { statusCode: status } = response;
    // An answer without an end counts, too.
    await response.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    return { answer: { status, headers: pick(response.headers, ANSWER_HEADERS), text: '' } };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = /^E[A-Z]+$/.test(code) ? code : 'no valid answer';
    const failure = deadline.signal.aborted ? 'timeout' : reason;
    return { answer: { status: 502, headers: {}, text: 'not-forwarded\n' }, failure };
  } finally {
    ended.abort();
  }
}
