import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';
import type { BodyReading } from './body-budget.ts';
import { checkedReceiver, type WebhookReceiver, type WebhookRequest } from './webhook-receiver.ts';

export interface FetchHandlerOptions {
  /**
   * Keeps the process until a promise resolves, where a platform would stop it after the answer
   * (`context.waitUntil`, Next's `after`). Where the platform gives one for each request, make the
   * handler anew for each, or answer once the messages are handled (`answer: 'handled'`). Where it
   * throws, the answer waits for the messages instead.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

/**
 * A handler of the web's `Request`: Hono (`(context) => handler(context.req.raw)`), Next (`export const
 * POST = handler`), Deno, Bun and the like. Rejects with `ERR_RAW_BODY_GONE` where the body was read
 * before.
 */
export function fetchHandler(
  receiver: WebhookReceiver,
  options: FetchHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const checked = checkedReceiver(receiver);
  const { waitUntil } = ownProperties(options);
  return async (request) => {
    const { status, headers, text, handle } = await checked.receive(fetchRequest(request));
    if (handle !== undefined) {
      // In the next turn, when the answer has been handed on.
      const work = nextTurn().then(handle);
      if (!isKept(work, waitUntil)) await work;
    }
    return new Response(text === '' ? null : text, { status, headers });
  };
}

/** Taken off its context it throws ("Illegal invocation"), which must not cost the messages. */
function isKept(work: Promise<unknown>, waitUntil: FetchHandlerOptions['waitUntil']): boolean {
  try {
    ignoreRejection(waitUntil?.(work));
    return true;
  } catch {
    return false;
  }
}

function fetchRequest(request: Request): WebhookRequest {
  return {
    method: request.method,
    header: (name) => request.headers.get(name) ?? undefined,
    readBody: async (_maxBytes, reading) => {
      // Locked: somebody is reading it.
      if (request.bodyUsed || request.body?.locked === true)
        throw new SecurityEventError('ERR_RAW_BODY_GONE');
      return await readBody(request, reading);
    },
  };
}

async function readBody({ body }: Request, reading: BodyReading): Promise<Uint8Array | undefined> {
  let chunks: Uint8Array[] | undefined = [];
  const reader = body?.getReader();
  reading.onRefused(() => {
    chunks = undefined;
    // It ends `read`. Nobody waits for what a source does at its end.
    reader?.cancel().catch(() => {});
  });
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (chunks === undefined) return undefined;
    if (done || value === undefined) return Buffer.concat(chunks);
    if (reading.take(value.length)) chunks.push(value);
  }
}
