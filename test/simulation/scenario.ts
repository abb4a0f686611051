/** The scenario of a seed: a world as plain data. Times are in milliseconds since its start. */

import type { SenderRole } from '../../src/delivery/options.ts';
import type { Format } from '../../src/queue/queue.ts';
import type { FaultName } from './faults.ts';
import type { Policy } from './profiles.ts';

export type RetryAfterForm = 'none' | 'seconds' | 'date' | 'garbage';

/** How a receiver behaves from `fromMs` on. */
export interface Phase {
  readonly fromMs: number;
  readonly fault: FaultName;
  /** Sent with every response that is not a success. */
  readonly retryAfter: RetryAfterForm;
  readonly retryAfterMs: number;
  /** The largest accepted body. */
  readonly limitBytes: number;
}

export interface FixedSettings {
  readonly modules?: Readonly<Record<string, boolean>>;
  readonly playbooks?: Readonly<Record<string, boolean>>;
  readonly maxRequestsPerSecond?: number;
  readonly maxMessagesPerSecond?: number;
}

export interface ApplicationScenario {
  readonly id: string;
  readonly format: Format;
  readonly phases: readonly Phase[];
  /** Response time without a fault. */
  readonly latencyMs: number;
  /** The response to any request with the application's poison message. */
  readonly poisonStatus: 400 | 422 | 500 | undefined;
  readonly hasSecretFunction: boolean;
  /** Settings that never change. */
  readonly settings: FixedSettings;
}

export interface MessagePlan {
  /** Index of the application. */
  readonly application: number;
  readonly kind: 'security_event' | 'security_response' | 'http_scan';
  /** Bytes of text added to the message. `'all'` fills a request to its limit. */
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
export const SETTINGS_FAULTS = [
  'removed',
  'secret-throws',
  'settings-throw',
  'settings-hang',
  'bad-url',
] as const;
export type SettingsFault = (typeof SETTINGS_FAULTS)[number];

/** `loses-answer`: executes the call, then reports a failure. */
export const QUEUE_FAULTS = ['rejects', 'loses-answer'] as const;
export type QueueFault = (typeof QUEUE_FAULTS)[number];

/** Ends a process, which starts again later. */
interface Ending {
  readonly process: number;
  /** Waits until the next attempt is in flight. */
  readonly isMidAttempt: boolean;
  readonly downMs: number;
}

export type PlannedAction = { readonly atMs: number } & (
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

export interface Scenario {
  readonly seed: number;
  /** Whether the queue survives its process. */
  readonly isDurable: boolean;
  readonly processes: readonly SenderRole[];
  readonly applications: readonly ApplicationScenario[];
  readonly policy: Policy;
  readonly maxPendingMessages: number;
  readonly lingerMs: number;
  readonly batches: readonly Batch[];
  readonly plannedActions: readonly PlannedAction[];
  /** When all faults end. */
  readonly healedMs: number;
  /** Whether the world ends with `close` while messages are pending. */
  readonly endsEarly: boolean;
  /** Whether the dead letters are replayed after the faults. */
  readonly replaysAtEnd: boolean;
  /** The longest Retry-After of the scenario. */
  readonly maxRetryAfterMs: number;
}
