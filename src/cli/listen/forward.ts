/** Hands a request on as it came in, and gives what it was answered. */
import http from 'node:http';
import https from 'node:https';
import type { TerminalClock } from '../terminal.ts';
import type { Answer } from './received-request.ts';

/** What is handed on: the signature is of the body, and only true beside it. */
const HEADERS = ['content-type', 'user-agent', 'x-svc-integrity'];
/** What of the answer a sender looks at. */
const ANSWER_HEADERS = ['location', 'retry-after'];
/** More of its body is not waited for: nobody reads it. */
const MAX_ANSWER_BYTES = 65_536;

/** Below what senders wait (15 s), so that they hear about it. */
const DEADLINE_MS = 14_000;

export interface Forwarding {
  /** Names this run, and no other. */
  readonly forwarder: string;
  readonly signal: AbortSignal;
  readonly clock: TerminalClock;
}

export interface Forwarded {
  readonly answer: Answer;
  /** Why there was none from the target. */
  readonly failure?: string;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const chosen = (headers: Headers, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );

/** 502: who stands between a sender and its receiver, and gets no answer from that, says so. */
const failed = (failure: string): Forwarded => ({
  answer: { status: 502, headers: {}, text: 'not-forwarded\n' },
  failure,
});

/** Whether this forwarder has handed the request on already. */
export const hasPassed = ({ via }: Headers, forwarder: string): boolean =>
  String(via ?? '').includes(forwarder);

/** By which each forwarder on the way knows its own requests: RFC 9110, section 7.6.3. */
const viaOf = ({ via }: Headers, forwarder: string): string =>
  [...(via === undefined ? [] : [via]), `1.1 ${forwarder}`].flat().join(', ');

/** A redirect is an answer like others; nothing is followed. Never rejects. */
export function forward(
  url: URL,
  { headers, body }: { readonly headers: Headers; readonly body: Buffer },
  { forwarder, signal, clock }: Forwarding,
): Promise<Forwarded> {
  const options = {
    method: 'POST',
    headers: {
      ...chosen(headers, HEADERS),
      via: viaOf(headers, forwarder),
      'content-length': body.length,
    },
    // A connection of its own: one that is kept would keep the program from ending.
    agent: false,
    signal,
  } as const;
  return new Promise((settle) => {
    let answered: Forwarded | undefined;
    const ended = new AbortController();
    const resolve = (forwarded: Forwarded): void => {
      ended.abort();
      settle(forwarded);
    };
    const request = (url.protocol === 'https:' ? https : http).request(url, options);
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      // Node reads such a status and refuses to write it.
      if (status < 200) {
        resolve(failed(`status ${status}`));
        request.destroy();
        return;
      }
      const answer = { status, headers: chosen(response.headers, ANSWER_HEADERS), text: '' };
      answered = { answer };
      let bytes = 0;
      response.on('data', (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) request.destroy();
      });
      response.on('error', () => undefined);
      // Not before its end: the target's connection would be cut off in the middle of its answer.
      response.on('close', () => resolve({ answer }));
    });
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve(failed(error.code ?? error.name)),
    );
    // Of all of it: a target that sends a byte now and then would never be idle for so long.
    void clock.sleep(DEADLINE_MS, ended.signal).then(() => {
      if (ended.signal.aborted) return;
      resolve(answered ?? failed('ETIMEDOUT'));
      request.destroy();
    });
    request.end(body);
  });
}
