/** The options of host adapters, validated once for all requests. */
import {
  ANYTHING,
  integer,
  invalidOption,
  type OptionsOf,
  option,
  optional,
  readOptions,
  usable,
} from '../../option-rules.ts';
import { isObjectLike, readProperty } from '../../own-properties.ts';
import {
  CLIENT_ADDRESS_OPTIONS,
  type ClientAddressPolicy,
  clientAddressPolicy,
} from '../client-address/client-address.ts';
import { ENRICHMENT_OPTION } from '../enrichment/describe-address.ts';
import type { Enrichment } from '../enrichment/enrichers.ts';
import { createRedactor, type RedactionOptions, type Redactor } from '../redaction/redactor.ts';
import {
  type ParameterOptions,
  type ParameterSources,
  parameterCopier,
  type RequestParameters,
} from './parameters.ts';

export const CAPTURE_OPTIONS = {
  ...CLIENT_ADDRESS_OPTIONS,
  ...ENRICHMENT_OPTION,
  /** Redaction of parameters, path and user agent. Default: names of `SENSITIVE_KEYS`, and values like secrets. */
  redaction: optional<RedactionOptions>(ANYTHING),
  /** Limits of the captured parameters; `false`: none are captured. */
  parameters: option<ParameterOptions | false>(
    usable('an object of limits, or false', (value) => value === false || isObjectLike(value)),
    {},
  ),
  /** Status of the response to a blocked request. 400 to 599; default 403. */
  blockedStatus: option<number>(integer(400, 599), 403),
} as const;

export interface CaptureOptions extends OptionsOf<typeof CAPTURE_OPTIONS> {}

export interface CaptureSettings {
  readonly addressPolicy: ClientAddressPolicy;
  readonly enrichment: Enrichment | undefined;
  readonly redactor: Redactor;
  /** `undefined`: no parameters are captured. */
  readonly copyParameters: ((sources: ParameterSources) => RequestParameters) | undefined;
  readonly blockedStatus: number;
}

/** Throws if `options` is a request: the host passed `captureRequests` as middleware instead of calling it. */
export function refuseRequest(options: unknown): void {
  if (!isObjectLike(options)) return;
  const isRequest = ['headers', 'req'].some((name) => readProperty(options, name) !== undefined);
  if (isRequest) throw invalidOption(NOT_CALLED, []);
}

const NOT_CALLED =
  'expected options, found a request: call `captureRequests` instead of passing it';

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function readCaptureOptions(options: CaptureOptions = {}): CaptureSettings {
  refuseRequest(options);
  const given = readOptions(options, CAPTURE_OPTIONS);
  const redactor = createRedactor(given.redaction);
  return {
    addressPolicy: clientAddressPolicy(given),
    enrichment: given.enrichment,
    redactor,
    copyParameters:
      given.parameters === false ? undefined : parameterCopier(given.parameters, redactor),
    blockedStatus: given.blockedStatus,
  };
}
