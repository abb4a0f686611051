/** The loop of `sendWebhook`: wait until something is due, send it, see what follows. */
import type { Clock } from '../runtime/clock.ts';
import type { Backlog, PendingRequest, Verdict } from './backlog.ts';
import { encodeBody, formatTimestamp } from './encoder.ts';
import type { Poster, PostRequest } from './http/client.ts';
import { type AttemptResult, judgeAttempt, LARGE_BODY_BYTES } from './outcome.ts';
import { type AttemptEnd, type RequestReport, reportOf, type SendReport } from './report.ts';
import { SIGNATURE_HEADER } from './request-headers.ts';
import { parseRetryAfter } from './retry-after.ts';
import { sign } from './signature.ts';

export interface DirectSending {
  readonly url: URL;
  readonly secret: string;
  readonly tls: PostRequest['tls'];
  /** All but the signature. */
  readonly headers: Readonly<Record<string, string>>;
  readonly backlog: Backlog;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Attempt {
  readonly report: RequestReport;
  readonly verdict: Verdict;
}

/** One request at a time, until nothing is left or the signal is aborted. */
export async function sendAll(sending: DirectSending): Promise<SendReport> {
  const { backlog, signal } = sending;
  const requests: RequestReport[] = [];
  for (let dueAt = backlog.nextDueAt(); dueAt !== undefined; dueAt = backlog.nextDueAt()) {
    await waitUntil(dueAt, sending);
    const request = signal.aborted ? undefined : backlog.take();
    if (request === undefined) break;
    const { report, verdict } = await attempt(request, sending);
    requests.push(report);
    backlog.settle(request, verdict);
  }
  backlog.giveUpAll({ reason: 'aborted' });
  return reportOf({ delivered: backlog.delivered, undelivered: backlog.undelivered, requests });
}

/** On the monotonic clock: a clock that is set must not lengthen a wait. */
async function waitUntil(time: number, { clock, signal }: DirectSending): Promise<void> {
  // Again and again: a timer may be early by a fraction, and Retry-After is a floor.
  while (!signal.aborted && clock.monotonicMs() < time) {
    await clock.sleep(time - clock.monotonicMs(), signal);
  }
}

/** Encoded and signed anew: `date_created` and `retry_count` are of this attempt (D23, D24, D32). */
async function attempt(request: PendingRequest, sending: DirectSending): Promise<Attempt> {
  const { url, secret, poster, clock, signal } = sending;
  const { messages, sends } = request;
  const outgoing = messages.map(({ stored }) => ({ stored, sends }));
  const body = encodeBody(outgoing, formatTimestamp(clock.now()));
  const headers = { ...sending.headers, [SIGNATURE_HEADER]: sign(body, secret) };
  const result = await poster.post({ url, body, headers, signal, tls: sending.tls });

  const bytes = body.length;
  const judgement = judgeAttempt(result, {
    bytes,
    messageCount: messages.length,
    largeBodyBytes: LARGE_BODY_BYTES,
  });
  const end = endOf(result);
  const isAborted = result.kind === 'failure' && result.code === 'aborted';
  const retryAfterMs = retryAfterOf(result, clock.now());
  return {
    verdict: { ...judgement, isAborted, end, retryAfterMs, now: clock.monotonicMs() },
    report: {
      ...end,
      outcome: judgement.outcome,
      message_ids: messages.map(({ stored }) => stored.messageId),
      retry_count: sends,
      bytes,
      durationMs: result.timings.totalMs,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  };
}

function endOf(result: AttemptResult): AttemptEnd {
  return result.kind === 'response'
    ? { status: result.status }
    : { failure: result.code, detail: result.detail };
}

function retryAfterOf(result: AttemptResult, now: number): number | undefined {
  return result.kind === 'response' ? parseRetryAfter(result.retryAfter, now) : undefined;
}
