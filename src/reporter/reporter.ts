/** What an application agent imports: one method an event. */

import type { CloseResult, FlushResult } from '../delivery/sender.ts';
import type { SecurityEventError } from '../errors.ts';
import type {
  AttackPayload,
  CustomOptions,
  EventContext,
  ExploitPayload,
  IncidentPayload,
  PlaybookPayload,
  UserEventPayload,
} from './event-input.ts';
import type { Receipt } from './receipt.ts';
import type { ReporterStats } from './reporter-stats.ts';

/** What the log could not do: the rest was done all the same. */
export interface LogTrouble {
  readonly logError?: SecurityEventError;
}

export interface ReporterFlushResult extends FlushResult, LogTrouble {}
export interface ReporterCloseResult extends CloseResult, LogTrouble {}

/**
 * Tells each event twice: as a log record, written when the call returns, and, where it is wanted, as
 * a webhook message, handed to the sender. No method that tells an event throws (but with
 * `strict: true`), waits or changes what it is given; what cannot be told goes to `onRejected`.
 */
export interface EventReporter {
  /** An attack that a ruleset has found: `svc.ev0.threat.attack`; on channel B a `security_event`. */
  attack(payload: AttackPayload, context?: EventContext): Receipt;
  /** An exploit that a protection has found: `svc.ev0.threat.vulnerability_exploit`; likewise. */
  vulnerabilityExploit(payload: ExploitPayload, context?: EventContext): Receipt;
  /** `svc.ev0.incident`; on channel B the message of its type (D48). Created once, then updated (D50). */
  incident(payload: IncidentPayload, context?: EventContext): Receipt;
  /** `svc.ev0.playbook_trigger`; on channel B a `security_response`. */
  playbookTrigger(payload: PlaybookPayload, context?: EventContext): Receipt;
  /** `svc.ev0.user_event.login`: on channel A alone, unless the context gives a message. */
  userLogin(payload: UserEventPayload, context?: EventContext): Receipt;
  /** `svc.ev0.user_event.signup`, likewise. */
  userSignup(payload: UserEventPayload, context?: EventContext): Receipt;
  /** `svc.ev0.custom_event` with the name and options, likewise. */
  customEvent(name: string, options: CustomOptions, context?: EventContext): Receipt;
  /**
   * A reporter for one detector: what it tells is of the module, unless a call names another. Channels,
   * counters and settings are those of this reporter, and so is its end. Throws `ERR_INVALID_OPTION`.
   */
  with(options: { readonly module: string }): EventReporter;
  /** The counters as they are now, of derived reporters too. */
  stats(): ReporterStats;
  /**
   * Waits until everything reported before the call is written, and settled on channel B. The wait ends
   * after `deadlineMs` (default: none), or when `signal` is aborted; `pending` counts the messages left.
   */
  flush(options?: {
    readonly deadlineMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<ReporterFlushResult>;
}

/** What `createReporter` makes. */
export interface Reporter extends EventReporter, AsyncDisposable {
  /**
   * Tells nothing more, delivers what can be within `deadlineMs` (default 10000), and lets go of the
   * writer and the sender that it has made; those that it was given stay open. Idempotent.
   */
  close(options?: { readonly deadlineMs?: number }): Promise<ReporterCloseResult>;
}
