import { SecurityEventError } from '../errors.ts';
import { A_FUNCTION, check, type Rules } from '../option-rules.ts';
import { ignoreRejection, tryCall } from '../runtime/host-calls.ts';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';
import type { BodyReading } from './body-budget.ts';
import { senderWentAway } from './refusals.ts';
import { checkReceiver, type WebhookReceiver, type WebhookRequest } from './webhook-receiver.ts';

export interface FetchHandlerOptions {
  /**
   * For `answer: 'received'`: keeps the process alive until a promise resolves, on platforms that stop it after
   * the response (`context.waitUntil`, Next's `after`). If each request has its own `waitUntil`, create a handler
   * for each request. If it throws, the response waits for the messages instead.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

const RULES: Rules<keyof FetchHandlerOptions> = { waitUntil: A_FUNCTION };

/**
 * Creates a handler for Fetch requests: Hono (`(context) => handler(context.req.raw)`), Next (`export const
 * POST = handler`), Deno, Bun and others. Rejects with `ERR_RAW_BODY_GONE` if the body was read before.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function fetchHandler(
  receiver: WebhookReceiver,
  options: FetchHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const checked = checkReceiver(receiver);
  const { waitUntil } = check<FetchHandlerOptions>(options, RULES);
  return async (request) => {
    const { status, headers, text, handle } = await checked.receive(fetchRequest(request));
    if (handle !== undefined) {
      // In the next turn, after the response was returned.
      const work = nextTurn().then(handle);
      const isStarted = tryCall(() => {
        ignoreRejection(waitUntil?.(work));
        return true;
      });
      // `waitUntil` throws without its context ("Illegal invocation"): then the response waits for the work.
      if (isStarted !== true) await work;
    }
    return new Response(text === '' ? null : text, { status, headers });
  };
}

function fetchRequest(request: Request): WebhookRequest {
  return {
    method: request.method,
    header: (name) => request.headers.get(name) ?? undefined,
    readBody: async (_maxBytes, reading) => {
      // Locked: it is being read elsewhere.
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
    // Ends `read`. The source's own clean-up is not awaited.
    reader?.cancel().catch(() => {});
  });
  for (;;) {
    // Each platform has its own error for a sender that disconnects.
    const next = reader?.read().catch(() => Promise.reject(senderWentAway()));
    const { done = true, value } = (await next) ?? {};
    if (chunks === undefined) return undefined;
    if (done || value === undefined) return Buffer.concat(chunks);
    if (reading.take(value.length)) chunks.push(value);
  }
}
