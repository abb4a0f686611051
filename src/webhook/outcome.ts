/**
 * What became of one attempt (one POST), told without any text of the receiver's: its status and
 * headers, or one word of a closed vocabulary.
 */

/** Why an attempt ended without a response. */
export type FailureCode =
  /** the network guard refused the address (D77) */
  | 'address-refused'
  /** the name did not resolve */
  | 'dns'
  | 'connection-refused'
  | 'network-unreachable'
  /** no connection within the connect deadline (D76) */
  | 'connect-timeout'
  /** the certificate or the handshake was refused */
  | 'tls'
  /** no response headers within the header deadline (D76) */
  | 'headers-timeout'
  /** the attempt's whole time was over (D76) */
  | 'deadline'
  /** the connection ended before the response headers */
  | 'connection-reset'
  /** what came back is not HTTP, or breaks its limits */
  | 'protocol'
  /** the caller's signal */
  | 'aborted'
  | 'network';

/** One attempt as the wire saw it. */
export type AttemptResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      /** The Retry-After header as received. */
      readonly retryAfter: string | undefined;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'failure';
      readonly code: FailureCode;
      /** One sentence that names rule, phase and system error code; no received text. */
      readonly detail: string;
      readonly durationMs: number;
    };
