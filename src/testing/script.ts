/** Which step comes next. */
import type { IncomingRequest } from './received-request.ts';
import { type ConnectionFault, checkStep, isConnectionFault, OK, type Step } from './step.ts';

/**
 * One step a request, in the order in which they come in; or a function of the request, whose
 * `undefined` means what a script that is over means.
 */
export type Script = readonly Step[] | ((request: IncomingRequest) => Step | undefined);

export interface Steps {
  /** For a new connection: its fault, where the next step is one. */
  ofConnection(): ConnectionFault | undefined;
  /** For a request whose headers are in; absent where a function decides once it is read. */
  ofHeaders(): Step | undefined;
  /** For a request that is read. */
  ofRequest(request: IncomingRequest): Step;
}

/** Throws ERR_INVALID_OPTION for a step that cannot be played. */
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
