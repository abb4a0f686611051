/** Channel B of a reporter: passes messages to the sender, and its answers to receipts. */
import type {
  CloseResult,
  FlushResult,
  SendSelection,
  SingleSendResult,
  WebhookSender,
} from '../delivery/sender.ts';
import type { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { captureAsyncContext } from '../runtime/async-context.ts';
import type { DraftMessage } from './build-message.ts';
import type { EventCall, ReportedEvent } from './build-record.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import type { EventReceipt, Settlement } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';
import { type OnResult, SendBatcher, sendBatchBy } from './send-batcher.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** The part of a webhook sender that a reporter uses. */
export type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

export interface MessageOutput {
  readonly sender: Sender;
  /** Whether the reporter created the sender, and closes it. */
  readonly isOwned: boolean;
}

export interface WebhookParts {
  readonly output: MessageOutput;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
}

export class WebhookChannel {
  readonly #parts: WebhookParts;
  readonly #batcher: SendBatcher;
  readonly #inFlight = new InFlightLimit();

  constructor(parts: WebhookParts) {
    this.#parts = parts;
    this.#batcher = new SendBatcher(sendBatchBy(parts.output.sender));
  }

  /** Sends the message of an event, and settles its receipt. Never throws. */
  send(event: ReportedEvent, message: DraftMessage, receipt: EventReceipt): void {
    try {
      this.#inFlight.enter();
    } catch (full) {
      receipt.settle(this.reject(event.call, full));
      return;
    }
    this.#batcher.send(message, selectionOf(event), this.#settle(event.call, receipt));
  }

  /** Captures the async context of the event, for `onRejected`. */
  #settle(call: EventCall, receipt: EventReceipt): OnResult {
    const context = captureAsyncContext();
    return (result) => {
      this.#inFlight.leave();
      if (result.status === 'fulfilled') receipt.settle(this.#countAnswer(result.value));
      else context.runInAsyncScope(() => receipt.settle(this.reject(call, result.reason)));
    };
  }

  #countAnswer(answer: SingleSendResult): Parameters<EventReceipt['settle']>[0] {
    const { counters } = this.#parts;
    if (!answer.isAccepted) return counters.skipped(answer.reason);
    counters.count('accepted');
    return answer;
  }

  /** Rejects an event whose message cannot be sent. */
  reject(call: EventCall, thrown: unknown): Settlement {
    const error = withCallPaths(senderFailed(thrown));
    const { code: reason } = this.#parts.rejections.add('webhook', call, error);
    return { outcome: 'rejected', reason };
  }

  /** Resolves when the sender has accepted or refused every message so far. */
  waitForAnswers(): Promise<void> {
    return this.#batcher.waitForAnswers();
  }

  async flush(signal: AbortSignal): Promise<FlushResult> {
    try {
      return await this.#parts.output.sender.flush({ signal });
    } catch (thrown) {
      throw senderFailed(thrown);
    }
  }

  async close(deadlineMs: number): Promise<CloseResult> {
    const { sender, isOwned } = this.#parts.output;
    return isOwned ? sender.close({ deadlineMs }) : nothingClosed();
  }
}

const senderFailed = (thrown: unknown): SecurityEventError =>
  wrapHostError(thrown, 'ERR_QUEUE_FAILED', { detail: 'the sender threw' });

const NO_RESULTS = { delivered: 0, dead: 0, discarded: 0 } as const;

/** The result of `flush` without a sender. */
export const NOTHING_FLUSHED = { ...NO_RESULTS, settledElsewhere: 0, pending: 0 } as const;

/** Returns the result of `close` without a sender of the reporter's own. */
export const nothingClosed = (): CloseResult => ({ ...NO_RESULTS, returned: [], remaining: 0 });

/** The sender got a list of one message. Lets paths begin at the argument of the call: `webhook`, not `0`. */
function withCallPaths(error: SecurityEventError): SecurityEventError {
  if (error.path[0] !== 0) return error;
  const issues = error.issues.map(({ path, message }) => ({ path: pathInCall(path), message }));
  return error.copy(pathInCall(error.path), issues).withInput(error.input);
}

const pathInCall = ([, ...rest]: readonly PropertyKey[]): PropertyKey[] => ['webhook', ...rest];

/** Applications choose by module and playbook which messages they get. */
function selectionOf({ call, context, draft }: ReportedEvent): SendSelection {
  const { module = call.module } = context;
  const isPlaybook = call.kind === 'playbookTrigger';
  const slug = isPlaybook ? ownProperties(draft.payload)['playbook_slug'] : undefined;
  return ownProperties({
    ...(module === undefined ? {} : { module }),
    ...(typeof slug === 'string' ? { playbook: slug } : {}),
  });
}
