/** Channel B of a reporter: passes messages to the sender, and its answers to receipts. */
import type { CloseResult, FlushResult, SendSelection } from '../delivery/sender.ts';
import type { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { captureAsyncContext } from '../runtime/async-context.ts';
import type { DraftMessage } from './build-message.ts';
import type { EventCall, ReportedEvent } from './build-record.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import type { MessageSink, SentMessage } from './message-sink.ts';
import type { EventReceipt, Settlement } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';
import { SendBatcher, type SendListener } from './send-batcher.ts';
import { wrapHostError } from './wrap-host-error.ts';

export interface WebhookParts {
  readonly sink: MessageSink;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
}

export class WebhookChannel {
  readonly #parts: WebhookParts;
  readonly #batcher: SendBatcher;
  readonly #inFlight = new InFlightLimit();

  constructor(parts: WebhookParts) {
    this.#parts = parts;
    this.#batcher = new SendBatcher(parts.sink);
  }

  /** Sends the message of an event, and settles its receipt. Never throws. */
  send(event: ReportedEvent, message: DraftMessage, receipt: EventReceipt): void {
    try {
      this.#inFlight.enter();
    } catch (full) {
      receipt.settle(this.reject(event.call, full));
      return;
    }
    this.#batcher.send(message, selectionOf(event), this.#listener(event.call, receipt));
  }

  /** Captures the async context of the event, for `onRejected`. */
  #listener(call: EventCall, receipt: EventReceipt): SendListener {
    const context = captureAsyncContext();
    return {
      sent: (answer) => {
        this.#inFlight.leave();
        receipt.settle(this.#countAnswer(answer));
      },
      failed: (thrown) => {
        this.#inFlight.leave();
        context.runInAsyncScope(() => receipt.settle(this.reject(call, thrown)));
      },
    };
  }

  #countAnswer(answer: SentMessage): Parameters<EventReceipt['settle']>[0] {
    const { counters } = this.#parts;
    if (!answer.isAccepted) return counters.skipped(answer.reason);
    counters.count('accepted');
    return answer;
  }

  /** Rejects an event whose message cannot be sent. */
  reject(call: EventCall, thrown: unknown): Settlement {
    const error = wrapHostError(thrown, 'ERR_QUEUE_FAILED', { detail: 'the sender threw' });
    const { code: reason } = this.#parts.rejections.add('webhook', call, withCallPaths(error));
    return { outcome: 'rejected', reason };
  }

  /** Resolves when the sender has accepted or refused every message so far. */
  waitForAnswers(): Promise<void> {
    return this.#batcher.waitForAnswers();
  }

  flush(signal: AbortSignal): Promise<FlushResult> {
    return this.#parts.sink.flush(signal);
  }

  close(deadlineMs: number): Promise<CloseResult> {
    return this.#parts.sink.close(deadlineMs);
  }
}

/** The sender got a list of one message. Lets paths begin at the argument of the call: `webhook`, not `0`. */
function withCallPaths(error: SecurityEventError): SecurityEventError {
  if (error.path[0] !== 0) return error;
  const issues = error.issues.map(({ path, message }) => ({ path: pathInCall(path), message }));
  return error.copy(pathInCall(error.path), issues).withInput(error.input);
}

const pathInCall = ([, ...rest]: readonly PropertyKey[]): PropertyKey[] => ['webhook', ...rest];

/** Applications choose by module and playbook which messages they get. */
function selectionOf({ call, draft }: ReportedEvent): SendSelection {
  const { module = call.module } = call.context;
  const isPlaybook = call.kind === 'playbookTrigger';
  const slug = isPlaybook ? ownProperties(draft.payload)['playbook_slug'] : undefined;
  return ownProperties({
    ...(module === undefined ? {} : { module }),
    ...(typeof slug === 'string' ? { playbook: slug } : {}),
  });
}
