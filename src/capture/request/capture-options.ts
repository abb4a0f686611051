/** The options of host adapters, validated once for all requests. */
import { ANYTHING, check, integer, usable } from '../../option-rules.ts';
import {
  type ClientAddressOptions,
  type ClientAddressPolicy,
  readClientAddressOptions,
} from '../client-address/client-address.ts';
import type { Enrichment } from '../enrichment/enrichers.ts';
import { createRedactor, type RedactionOptions, type Redactor } from '../redaction/redactor.ts';
import {
  type ParameterOptions,
  type ParameterSources,
  parameterCopier,
  type RequestParameters,
} from './parameters.ts';

export interface CaptureOptions extends ClientAddressOptions {
  /** Adds facts about addresses: see `createEnrichment`. Default: none. */
  readonly enrichment?: Enrichment | undefined;
  /** Redaction of parameters, path and user agent. Default: by the default names, and by value. */
  readonly redaction?: RedactionOptions | undefined;
  /** Limits of the captured parameters; `false`: none are captured. */
  readonly parameters?: Omit<ParameterOptions, 'redactor'> | false | undefined;
  /** Status of the response to a blocked request. 400 to 599; default 403. */
  readonly blockedStatus?: number | undefined;
}

/** Validated options. */
export interface CaptureSettings {
  readonly addresses: ClientAddressPolicy;
  readonly enrichment: Enrichment | undefined;
  readonly redactor: Redactor;
  /** `undefined`: no parameters are captured. */
  readonly copyParameters: ((sources: ParameterSources) => RequestParameters) | undefined;
  readonly blockedStatus: number;
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** For adapters that have more options. */
export const CAPTURE_RULES = {
  // Validated by client-address and redaction.
  trustedProxies: ANYTHING,
  addressHeader: ANYTHING,
  redaction: ANYTHING,
  enrichment: usable('what `createEnrichment` made', isObject),
  parameters: usable(
    'an object of limits, or false',
    (value) => value === false || isObject(value),
  ),
  blockedStatus: integer(400, 599),
};

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function readCaptureOptions(options: CaptureOptions = {}): CaptureSettings {
  const given = check<CaptureOptions>(options, CAPTURE_RULES);
  const { enrichment, redaction, parameters = {}, blockedStatus = 403 } = given;
  const redactor = createRedactor(redaction);
  return {
    addresses: readClientAddressOptions(given),
    enrichment,
    redactor,
    copyParameters: parameters === false ? undefined : parameterCopier({ ...parameters, redactor }),
    blockedStatus,
  };
}
