/** Maps errors of the network or the receiver to failure codes: by error code, never by text. */
import { SecurityEventError } from '../../errors.ts';
import type { FailureCode } from '../outcome.ts';

/** The part of a failed result that is known from its error; the attempt adds the timings. */
export interface Failure {
  readonly kind: 'failure';
  readonly code: FailureCode;
  readonly detail: string;
}

interface FailureRow {
  /** What happened, and in which phase. */
  readonly what: string;
  /** What to do about it. */
  readonly advice: string;
  /** The codes of Node, OpenSSL and undici that mean this. */
  readonly systemCodes: readonly string[];
}

const FAILURE_TABLE: Readonly<Record<FailureCode, FailureRow>> = {
  'address-refused': {
    what: 'The network guard refused the address before connecting',
    advice: "use a public address, or `network: 'allow-private'` for a receiver inside",
    systemCodes: ['ERR_ADDRESS_REFUSED'],
  },
  dns: {
    what: 'The name of the webhook URL did not resolve',
    advice: 'check the host name and the resolver of this machine',
    systemCodes: [
      'ENOTFOUND',
      'ENODATA',
      'ESERVFAIL',
      'EBADNAME',
      'EBADRESP',
      'EREFUSED',
      'ETIMEOUT',
      'ENONAME',
    ],
  },
  'connection-refused': {
    what: 'The connection was refused while connecting',
    advice: 'check that the receiver listens at the host and port of the webhook URL',
    systemCodes: ['ECONNREFUSED'],
  },
  'network-unreachable': {
    what: 'There was no route to the receiver while connecting',
    advice: 'check the route and the firewall between this machine and the receiver',
    systemCodes: ['ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'EADDRNOTAVAIL'],
  },
  'connect-timeout': {
    what: 'There was no connection within the connect deadline',
    advice: 'check that the receiver accepts connections and finishes its TLS handshake',
    systemCodes: ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
  },
  tls: {
    what: 'The certificate or the TLS handshake was refused while connecting',
    advice:
      'give the receiver a valid certificate for its name and TLS 1.2 or later, or trust its CA: name its file in ' +
      'NODE_EXTRA_CA_CERTS, or pass PEM text (not a path) in `tls.ca` of a sender',
    systemCodes: [
      'EPROTO',
      'UND_ERR_PRX_TLS',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'HOSTNAME_MISMATCH',
      'INVALID_CA',
      'INVALID_PURPOSE',
      'PATH_LENGTH_EXCEEDED',
    ],
  },
  'headers-timeout': {
    what: 'No response headers came within the header deadline',
    advice: 'let the receiver answer first and do its work afterwards',
    systemCodes: ['UND_ERR_HEADERS_TIMEOUT'],
  },
  deadline: {
    what: 'The time for the whole attempt was over before the response headers',
    advice: 'let the receiver answer first and do its work afterwards',
    systemCodes: ['TimeoutError'],
  },
  'connection-reset': {
    what: 'The connection ended before the response headers',
    advice: 'check the log of the receiver and of the proxies before it',
    systemCodes: ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'],
  },
  protocol: {
    what: 'The answer is not HTTP, or exceeds the limits of response headers',
    advice: 'check that the webhook URL names an HTTP receiver and the right port',
    // undici 7 does not always set a code on its parser's error; then the name is used.
    systemCodes: [
      'HTTPParserError',
      'UND_ERR_HEADERS_OVERFLOW',
      'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
      'UND_ERR_RES_EXCEEDED_MAX_SIZE',
    ],
  },
  aborted: {
    what: 'The attempt was stopped by its caller',
    advice: 'send again if the messages are still wanted',
    systemCodes: [],
  },
  'undici-missing': {
    what: 'The package undici could not be loaded before connecting',
    advice: 'install undici 7 beside this package, and leave it out of your bundle',
    systemCodes: ['ERR_PEER_MISSING'],
  },
  network: {
    what: 'The attempt failed on this side of the network',
    advice: 'look the code up in the documentation of Node.js and undici',
    systemCodes: [],
  },
};

/** More specific advice for system codes with one likely cause. */
const ADVICE_BY_SYSTEM_CODE: ReadonlyMap<string, string> = new Map([
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'check that the port of the webhook URL speaks HTTPS'],
  ['ERR_OSSL_PEM_NO_START_LINE', 'pass PEM texts (not paths) as `cert` and `key` of `tls`'],
  ['ERR_OSSL_X509_KEY_VALUES_MISMATCH', 'pass the private key of `cert` as `key` of `tls`'],
]);

/** Families of codes: OpenSSL, Node's TLS and HTTP parser, the resolver. */
const CODE_PREFIXES: readonly (readonly [prefix: string, code: FailureCode])[] = [
  ['ERR_SSL_', 'tls'],
  // The configured certificate or key cannot be read.
  ['ERR_OSSL_', 'tls'],
  ['ERR_TLS_', 'tls'],
  // OpenSSL could not verify the certificate.
  ['CERT_', 'tls'],
  ['ERROR_IN_CERT_', 'tls'],
  ['UNABLE_TO_', 'tls'],
  ['CRL_', 'tls'],
  ['HPE_', 'protocol'],
  ['EAI_', 'dns'],
];

const FAILURE_BY_SYSTEM_CODE: ReadonlyMap<string, FailureCode> = new Map(
  (Object.keys(FAILURE_TABLE) as FailureCode[]).flatMap((code) =>
    FAILURE_TABLE[code].systemCodes.map((systemCode) => [systemCode, code] as const),
  ),
);

/** How far the chain of causes is searched; an error may be its own cause. */
const MAX_CAUSES = 4;

/** Codes of Node, OpenSSL and undici. Anything else may be the receiver's text. */
const CODE_SHAPE = /^[A-Z][A-Z0-9_]{1,63}$/;

/** `reason` is a system error code or the limit that was reached. */
export function failure(code: FailureCode, reason: string): Failure {
  const { what } = FAILURE_TABLE[code];
  const advice = ADVICE_BY_SYSTEM_CODE.get(reason) ?? FAILURE_TABLE[code].advice;
  return { kind: 'failure', code, detail: `${what} (${reason}); ${advice}.` };
}

/** Turns anything thrown into a failure: `network` if it has no known code. */
export function failureOf(error: unknown): Failure {
  let unknownCode: string | undefined;
  for (const systemCode of systemCodes(error)) {
    const code = failureCode(systemCode);
    if (code !== undefined) return describe(code, systemCode, error);
    unknownCode ??= CODE_SHAPE.test(systemCode) ? systemCode : undefined;
  }
  return failure('network', unknownCode ?? 'no error code');
}

function describe(code: FailureCode, systemCode: string, error: unknown): Failure {
  // Why it could not be loaded: in a bundle it may be there.
  if (code === 'undici-missing') return failure(code, systemCodes(error).at(-1) ?? systemCode);
  // The guard's own message names the rule but not the address.
  if (error instanceof SecurityEventError) return { kind: 'failure', code, detail: error.message };
  return failure(code, systemCode);
}

function failureCode(systemCode: string): FailureCode | undefined {
  return (
    FAILURE_BY_SYSTEM_CODE.get(systemCode) ??
    CODE_PREFIXES.find(
      ([prefix]) => systemCode.startsWith(prefix) && CODE_SHAPE.test(systemCode),
    )?.[1]
  );
}

/** Returns the codes of an error and its causes, outermost first. A DOMException's code is its name. */
function systemCodes(error: unknown): string[] {
  const codes: string[] = [];
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && isError(current); depth += 1) {
    const { code, name } = current as NodeJS.ErrnoException;
    codes.push(typeof code === 'string' ? code : name);
    current = current.cause;
  }
  return codes;
}

/** Not `instanceof` alone: in a sandbox such as Jest's, Node's errors have another `Error` class. */
function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
}
