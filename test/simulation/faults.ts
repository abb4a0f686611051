/** How a modelled receiver, or the way to it, treats one request: a row each. */
import type { SeededRandom } from '../../src/testing/index.ts';
import type { FailureCode } from '../../src/webhook/outcome.ts';

/** Times are in ms since the attempt began. */
export interface Reaction {
  /** The receiver has the whole body and acts on it, whatever becomes of its answer. */
  readonly takenMs?: number;
  /** Status and headers are there. */
  readonly headersMs?: number;
  readonly endMs: number;
  readonly status?: number;
  readonly failure?: FailureCode;
}

export interface Asked {
  readonly bytes: number;
  readonly limitBytes: number;
  readonly latencyMs: number;
  readonly random: SeededRandom;
}

type React = (asked: Asked) => Reaction;

/** D76, as the wire keeps it. */
const CONNECT_MS = 5000;
const HEADERS_MS = 15_000;
const TOTAL_MS = 20_000;

const answer =
  (status: number, slowerMs: readonly [number, number] = [0, 0]): React =>
  ({ latencyMs, random }) => {
    const ms = latencyMs + random.integer(...slowerMs);
    return { takenMs: ms, headersMs: ms, endMs: ms, status };
  };

const broken =
  (failure: FailureCode, endMs?: number): React =>
  ({ latencyMs }) => ({ endMs: endMs ?? latencyMs, failure });

/** It has the body, but its answer does not arrive. */
const unheard =
  (failure: FailureCode, endMs?: number): React =>
  ({ latencyMs }) => ({ takenMs: latencyMs, endMs: endMs ?? latencyMs + 1, failure });

const limited =
  (status: number): React =>
  (asked) =>
    answer(asked.bytes > asked.limitBytes ? status : 200)(asked);

const oneOf =
  (...reactions: readonly React[]): React =>
  (asked) =>
    asked.random.pick(reactions)(asked);

export const FAULTS = {
  none: answer(200),
  accepted: answer(202),
  slow: answer(200, [2100, 12_000]),
  'endless-body': ({ latencyMs }) => ({
    takenMs: latencyMs,
    headersMs: latencyMs,
    endMs: TOTAL_MS,
    status: 200,
  }),
  hang: broken('headers-timeout', HEADERS_MS),
  'hang-after-body': unheard('headers-timeout', HEADERS_MS),
  deadline: unheard('deadline', TOTAL_MS),
  'reset-before-body': broken('connection-reset'),
  'reset-after-body': unheard('connection-reset'),
  dns: broken('dns'),
  refused: broken('connection-refused'),
  unreachable: broken('network-unreachable'),
  'connect-timeout': broken('connect-timeout', CONNECT_MS),
  tls: broken('tls'),
  'not-http': unheard('protocol'),
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
  flaky: oneOf(answer(200), answer(500), answer(503), unheard('connection-reset')),
  // Of a message, not of a phase: what its request is answered with.
  'poison-400': answer(400),
  'poison-422': answer(422),
  'poison-500': answer(500),
} as const satisfies Readonly<Record<string, React>>;

export type FaultName = keyof typeof FAULTS;
