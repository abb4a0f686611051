/** How a simulated receiver or network handles a request. One row per fault. */

import type { FailureCode } from '../../src/webhook/outcome.ts';
import type { SeededRandom } from '../helpers/seeded-random.ts';

/** Times are in milliseconds since the attempt started. */
export interface Reaction {
  /** Status and headers have arrived. */
  readonly headersMs?: number;
  readonly endMs: number;
  readonly status?: number;
  readonly failure?: FailureCode;
}

export interface RequestFacts {
  readonly bytes: number;
  readonly limitBytes: number;
  readonly latencyMs: number;
  readonly random: SeededRandom;
}

type React = (request: RequestFacts) => Reaction;

/** The HTTP client's timeouts (D76). */
const CONNECT_MS = 5000;
const HEADERS_MS = 15_000;
const TOTAL_MS = 20_000;

const answer =
  (status: number, slowerMs: readonly [number, number] = [0, 0]): React =>
  ({ latencyMs, random }) => {
    const ms = latencyMs + random.integer(...slowerMs);
    return { headersMs: ms, endMs: ms, status };
  };

const broken =
  (failure: FailureCode, endMs?: number): React =>
  ({ latencyMs }) => ({ endMs: endMs ?? latencyMs, failure });

/** The receiver has the body, but its response does not arrive. */
const responseLost =
  (failure: FailureCode, endMs?: number): React =>
  ({ latencyMs }) => ({ endMs: endMs ?? latencyMs + 1, failure });

const limited =
  (status: number): React =>
  (request) =>
    answer(request.bytes > request.limitBytes ? status : 200)(request);

const oneOf =
  (...reactions: readonly React[]): React =>
  (request) =>
    request.random.pick(reactions)(request);

export const FAULTS = {
  none: answer(200),
  accepted: answer(202),
  slow: answer(200, [2100, 12_000]),
  'endless-body': ({ latencyMs }) => ({ headersMs: latencyMs, endMs: TOTAL_MS, status: 200 }),
  hang: broken('headers-timeout', HEADERS_MS),
  'hang-after-body': responseLost('headers-timeout', HEADERS_MS),
  deadline: responseLost('deadline', TOTAL_MS),
  'reset-before-body': broken('connection-reset'),
  'reset-after-body': responseLost('connection-reset'),
  dns: broken('dns'),
  refused: broken('connection-refused'),
  unreachable: broken('network-unreachable'),
  'connect-timeout': broken('connect-timeout', CONNECT_MS),
  tls: broken('tls'),
  'not-http': responseLost('protocol'),
  'address-refused': broken('address-refused'),
  'status-301': answer(301),
  'status-400': answer(400),
  'status-401': answer(401),
  'status-403': answer(403),
  'status-404': answer(404),
  'status-408': answer(408),
  'status-410': answer(410),
  'status-422': answer(422),
  'status-425': answer(425),
  'status-429': answer(429),
  'status-500': answer(500),
  'status-502': answer(502),
  'status-503': answer(503),
  'limit-413': limited(413),
  'limit-400': limited(400),
  'limit-403': limited(403),
  'limit-500': limited(500),
  flaky: oneOf(answer(200), answer(500), answer(503), responseLost('connection-reset')),
  // Responses to requests with a poison message. Not part of a phase.
  'poison-400': answer(400),
  'poison-422': answer(422),
  'poison-500': answer(500),
} as const satisfies Readonly<Record<string, React>>;

export type FaultName = keyof typeof FAULTS;
