/** What one seed stands for: a world as plain data. Times are in ms since its beginning. */

import type { DeliveryOptions, SenderRole } from '../../src/delivery/options.ts';
import type { Format } from '../../src/queue/queue.ts';
import type { FaultName } from './faults.ts';

export type RetryAfterForm = 'none' | 'seconds' | 'date' | 'garbage';

/** How a receiver behaves from a time on. */
export interface Phase {
  readonly fromMs: number;
  readonly fault: FaultName;
  /** Sent with every answer that is no success. */
  readonly retryAfter: RetryAfterForm;
  readonly retryAfterMs: number;
  /** The largest body that it takes. */
  readonly limitBytes: number;
}

export interface ApplicationScenario {
  readonly id: string;
  readonly format: Format;
  readonly phases: readonly Phase[];
  /** Of an answer without a fault. */
  readonly latencyMs: number;
  /** What any request that holds the application's poison message is answered with. */
  readonly poisonStatus: 400 | 422 | 500 | undefined;
  readonly modules: Readonly<Record<string, boolean>> | undefined;
  readonly playbooks: Readonly<Record<string, boolean>> | undefined;
  readonly hasSecretFunction: boolean;
}

export interface MessagePlan {
  /** Which application, by its place. */
  readonly application: number;
  readonly kind: 'security_event' | 'security_response' | 'http_scan';
  /** Bytes of text beside what every message has; `'all'`: as much as a request may have. */
  readonly padBytes: number | 'all';
  readonly isPoison: boolean;
  readonly hasOwnId: boolean;
}

export interface Batch {
  readonly atMs: number;
  readonly messages: readonly MessagePlan[];
  readonly module: string | undefined;
}

/** How the settings of an application fail. */
export type SettingsFault =
  | 'removed'
  | 'secret-throws'
  | 'settings-throw'
  | 'settings-hang'
  | 'bad-url';
/** `loses-answer`: it does what it is asked, and then says that it failed. */
export type QueueFault = 'rejects' | 'loses-answer';

/** Of a process, which begins again later. */
interface Ending {
  readonly process: number;
  /** Not at once, but while its next attempt is under way. */
  readonly isMidAttempt: boolean;
  readonly downMs: number;
}

export type Happening = { readonly atMs: number } & (
  | (Ending & { readonly kind: 'crash' })
  | (Ending & { readonly kind: 'close'; readonly deadlineMs: number })
  | { readonly kind: 'flush'; readonly process: number; readonly budgetMs: number | undefined }
  | {
      readonly kind: 'new-url' | 'new-secret' | 'new-format' | 'reopen';
      readonly application: number;
    }
  | {
      readonly kind: 'settings';
      readonly application: number;
      readonly how: SettingsFault;
      readonly forMs: number;
    }
  | { readonly kind: 'slow-settings'; readonly delayMs: number; readonly forMs: number }
  | { readonly kind: 'queue'; readonly how: QueueFault; readonly forMs: number }
  | { readonly kind: 'clock'; readonly byMs: number }
  | { readonly kind: 'replay' | 'purge' }
);

/** The engine's numbers: every option that the checks need, so that none is a default unseen. */
export type Policy = Required<
  Pick<
    DeliveryOptions,
    | 'maxBodyBytes'
    | 'maxMessages'
    | 'cautiousMaxMessages'
    | 'refusedMaxAttempts'
    | 'largeBodyBytes'
    | 'bisectionMaxFailures'
    | 'openAfterFailures'
    | 'minProbeWaitMs'
    | 'maxProbeWaitMs'
    | 'slowStartStepMs'
    | 'goneConfirmMs'
    | 'growAfterSuccesses'
    | 'maxActiveRequests'
    | 'maxWaitingRequests'
    | 'lateAfterMs'
    | 'leaseMs'
    | 'maintenanceIntervalMs'
    | 'stalledAfterMs'
  >
> & {
  readonly schedule: {
    readonly delaysMs: readonly number[];
    readonly repeatLast: boolean;
    readonly horizonMs: number;
  };
};

export interface Scenario {
  readonly seed: number;
  /** A queue in memory ends with its process; the other one survives it. */
  readonly isDurable: boolean;
  readonly processes: readonly SenderRole[];
  readonly applications: readonly ApplicationScenario[];
  readonly policy: Policy;
  readonly maxPendingMessages: number;
  readonly lingerMs: number;
  readonly batches: readonly Batch[];
  readonly happenings: readonly Happening[];
  /** From then on nothing fails. */
  readonly healedMs: number;
  /** Whether the world ends by `close` in the middle of it all. */
  readonly endsEarly: boolean;
  /** Whether the dead letters are sent again after the faults. */
  readonly replaysAtEnd: boolean;
  /** The longest Retry-After in it. */
  readonly maxRetryAfterMs: number;
}
