/** What a host adapter is told, checked once and made ready for every request. */
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
} from './plain-parameters.ts';

export interface CaptureOptions extends ClientAddressOptions {
  /** What else is known of addresses: see `createEnrichment`. Default: nothing. */
  readonly enrichment?: Enrichment | undefined;
  /** What is redacted in parameters, path and user agent. Default: the default list, and by looks. */
  readonly redaction?: RedactionOptions | undefined;
  /** How much of the parameters is captured; `false`: none. */
  readonly parameters?: Omit<ParameterOptions, 'redactor'> | false | undefined;
  /** What a blocked request is answered with. 400 to 599; default 403. */
  readonly blockedStatus?: number | undefined;
}

/** The options once read. */
export interface CaptureSettings {
  readonly addresses: ClientAddressPolicy;
  readonly enrichment: Enrichment | undefined;
  readonly redactor: Redactor;
  /** `undefined`: no parameters are captured. */
  readonly copyParameters: ((sources: ParameterSources) => RequestParameters) | undefined;
  readonly blockedStatus: number;
}

const IS_OBJECT = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** For adapters that have options of their own besides. */
export const CAPTURE_RULES = {
  // Read by those who know them, under the same names.
  trustedProxies: ANYTHING,
  addressHeader: ANYTHING,
  redaction: ANYTHING,
  enrichment: usable('what `createEnrichment` made', (value) => IS_OBJECT(value)),
  parameters: usable(
    'an object of limits, or false',
    (value) => value === false || IS_OBJECT(value),
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
