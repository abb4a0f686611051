/** Which messages go together in a request (D31). Pure. */

export interface RequestLimits {
  readonly maxMessages: number;
  /** Of the whole body: brackets, commas, dates and counts included. */
  readonly maxBytes: number;
}

/** What splitting needs to know of a message. */
export interface Measured {
  /** Messages of different applications never share a request; `undefined` is one of its own. */
  readonly application: string | undefined;
  /** Of its element in the body. */
  readonly bytes: number;
}

/** `[` and `]`: what a body has besides its elements and their commas. */
export const BRACKET_BYTES = 2;
const COMMA_BYTES = 1;

/**
 * Puts messages into as few requests as their order within an application allows. A message that
 * is larger than `maxBytes` by itself goes alone: it is for the caller to refuse it before.
 */
export function splitRequests<T>(
  messages: readonly T[],
  measure: (message: T) => Measured,
  limits: RequestLimits,
): T[][] {
  const requests: T[][] = [];
  const open = new Map<string | undefined, { readonly request: T[]; bytes: number }>();
  for (const message of messages) {
    const { application, bytes } = measure(message);
    const filling = open.get(application);
    const hasRoom =
      filling !== undefined &&
      filling.request.length < limits.maxMessages &&
      filling.bytes + COMMA_BYTES + bytes <= limits.maxBytes;
    if (hasRoom) {
      filling.request.push(message);
      filling.bytes += COMMA_BYTES + bytes;
      continue;
    }
    const request = [message];
    requests.push(request);
    open.set(application, { request, bytes: BRACKET_BYTES + bytes });
  }
  return requests;
}

/** Both halves of a request that was too large, in order; the first is the larger one. */
export function halve<T>(request: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(request.length / 2);
  return [request.slice(0, middle), request.slice(middle)];
}

/**
 * The application a message or a v1 element tells of: `application_id`, or the `id` within
 * `application`.
 */
export function applicationOf(content: object): string | undefined {
  const named: Named = content;
  // An inherited one, of a polluted prototype, would mix the messages of all applications.
  if (Object.hasOwn(named, 'application_id')) return named.application_id;
  return Object.hasOwn(named, 'application') ? named.application?.id : undefined;
}

/** The parts of the contract's messages that say whose they are; every schema has one of them. */
interface Named {
  readonly application_id?: string;
  readonly application?: { readonly id: string };
}
