import { createReporter } from 'security-event-delivery';
import {
  createRequestCapture,
  fetchRequest,
  RequestBlockedError,
} from 'security-event-delivery/capture';

// Next.js bundles this file more than once: all copies share one reporter.
const shared = globalThis as { reporter?: ReturnType<typeof createReporter> };
shared.reporter ??= createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
});
export const reporter = shared.reporter;

// Next.js does not know the peer's address: count the proxies in front of it.
export const capture = createRequestCapture({ trustedProxies: 1 });

type Handler<C> = (request: Request, context: C) => Response | Promise<Response>;

/** Wraps a route handler: events that it reports have the context of the request. */
export function captured<C extends { params: Promise<object> }>(handler: Handler<C>) {
  return async (request: Request, context: C): Promise<Response> => {
    const source = fetchRequest(request, { params: await context.params });
    try {
      return await capture.run(source, () => handler(request, context));
    } catch (error) {
      if (error instanceof RequestBlockedError) return error.getResponse();
      throw error;
    }
  };
}
