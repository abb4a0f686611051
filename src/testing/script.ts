/** Validates the script of a receiver, and returns its steps in order. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { invalidOption, MAX_TIMER_MS } from '../option-rules.ts';
import { isObjectLike, ownProperties } from '../own-properties.ts';
import { FAULTS } from './answer.ts';
import type { IncomingRequest } from './received-request.ts';
import { type ConnectionFault, headersOf, OK, type Reply, type Step } from './step.ts';

const isConnectionFault = (step: Step): step is ConnectionFault =>
  'fault' in step && (step.fault === 'reset-on-connect' || step.fault === 'slow-tls');

/** Maximum of each number in a step; the minimum is 0. */
const MAXIMA = {
  delayMs: MAX_TIMER_MS,
  everyMs: MAX_TIMER_MS,
  afterMs: MAX_TIMER_MS,
  afterBytes: Number.MAX_SAFE_INTEGER,
  maxBytes: Number.MAX_SAFE_INTEGER,
  // 64 GiB: a larger one would not fit into memory.
  inflatedBytes: 2 ** 36,
} as const;

const KEYS: ReadonlySet<string> = new Set([
  'fault',
  'status',
  'headers',
  'retryAfter',
  'body',
  ...Object.keys(MAXIMA),
]);

/**
 * Validates a step.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for an unknown fault or key, a number that is missing or out of range,
 * and invalid headers or body.
 */
function checkStep(given: Step, path: readonly PropertyKey[]): Step {
  const step = isObjectLike(given) ? ownProperties(given) : given;
  const detail = problemInStep(step);
  if (detail !== undefined) throw invalidOption(detail, path);
  return step;
}

function problemInStep(step: Step): string | undefined {
  if (!isObjectLike(step)) return 'expected an object';
  if ('fault' in step && !FAULTS.includes(step.fault))
    return `fault: expected one of ${FAULTS.join(', ')}`;
  const unknown = Object.keys(step).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return `unknown key "${unknown.slice(0, 40)}"`;
  if ('fault' in step && step.fault === 'body-limit' && step.maxBytes === undefined)
    return 'maxBytes: expected a number';
  for (const [name, max] of Object.entries(MAXIMA)) {
    if (!isWithin(Reflect.get(step, name), max)) return `${name}: expected 0 to ${max}`;
  }
  if ('status' in step && !isFinalStatus(step.status)) return 'status: expected 200 to 599';
  return 'fault' in step ? undefined : problemInReply(step);
}

function problemInReply(reply: Reply): string | undefined {
  const { status, body = '' } = reply;
  if (status === undefined) return 'expected a fault or a status';
  if (typeof body !== 'string' && !ArrayBuffer.isView(body)) return 'body: expected text or bytes';
  try {
    for (const [name, value] of Object.entries(headersOf(reply))) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
  } catch {
    return 'headers: expected valid names and values';
  }
  return undefined;
}

const isWithin = (value: unknown, max: number): boolean =>
  value === undefined || (typeof value === 'number' && value >= 0 && value <= max);

const isFinalStatus = (status: number | undefined): boolean =>
  Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;

/** One step for each request, in order of arrival; or a function of the request. `undefined` means `otherwise`. */
export type Script = readonly Step[] | ((request: IncomingRequest) => Step | undefined);

export interface Steps {
  /** Returns the fault of a new connection, if the next step is one. */
  forConnection(): ConnectionFault | undefined;
  /** Returns the step of a request whose headers have arrived; undefined if a function decides later. */
  forHeaders(): Step | undefined;
  /** Returns the step of a request whose body was read. */
  forRequest(request: IncomingRequest): Step;
}

/** Throws ERR_INVALID_OPTION for an invalid step. */
export function createSteps(script: Script = [], lastStep: Step = OK): Steps {
  const otherwise = checkStep(lastStep, ['otherwise']);
  if (typeof script === 'function') {
    return {
      forConnection: () => (isConnectionFault(otherwise) ? otherwise : undefined),
      forHeaders: () => undefined,
      forRequest: (request) => checkStep(script(request) ?? otherwise, ['script']),
    };
  }
  if (!Array.isArray(script)) {
    throw invalidOption('expected a list of steps or a function', ['script']);
  }
  const steps = (script as readonly Step[]).map((step, index) =>
    checkStep(step, ['script', index]),
  );
  const next = (): Step => steps.shift() ?? otherwise;
  return {
    forConnection: () => {
      const step = steps[0] ?? otherwise;
      if (!isConnectionFault(step)) return undefined;
      steps.shift();
      return step;
    },
    forHeaders: next,
    forRequest: next,
  };
}
