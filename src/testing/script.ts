/** Chooses the step of each request. */
import type { IncomingRequest } from './received-request.ts';
import { type ConnectionFault, checkStep, isConnectionFault, OK, type Step } from './step.ts';

/** One step for each request, in order of arrival; or a function of the request. `undefined`: see `otherwise`. */
export type Script = readonly Step[] | ((request: IncomingRequest) => Step | undefined);

export interface Steps {
  /** Returns the fault of a new connection, if the next step is one. */
  ofConnection(): ConnectionFault | undefined;
  /** Returns the step of a request whose headers have arrived; undefined if a function decides later. */
  ofHeaders(): Step | undefined;
  /** Returns the step of a request that was read. */
  ofRequest(request: IncomingRequest): Step;
}

/** Throws ERR_INVALID_OPTION for an invalid step. */
export function createSteps(script: Script = [], last: Step = OK): Steps {
  const otherwise = checkStep(last, ['otherwise']);
  if (typeof script === 'function') return decidedBy(script, otherwise);
  const steps = script.map((step, index) => checkStep(step, ['script', index]));
  let position = 0;
  const next = (): Step => {
    position += 1;
    return steps[position - 1] ?? otherwise;
  };
  return {
    ofConnection: () => {
      const step = steps[position] ?? otherwise;
      if (!isConnectionFault(step)) return undefined;
      position += 1;
      return step;
    },
    ofHeaders: next,
    ofRequest: next,
  };
}

function decidedBy(script: Exclude<Script, readonly Step[]>, otherwise: Step): Steps {
  return {
    ofConnection: () => (isConnectionFault(otherwise) ? otherwise : undefined),
    ofHeaders: () => undefined,
    ofRequest: (request) => checkStep(script(request) ?? otherwise, ['script']),
  };
}
