/** The run of `send`: part by part, until the input is over or going on is of no use. */
import {
  SecurityEventError,
  type SendOptions,
  type SendReport,
  sendWebhook,
  type UndeliveredMessage,
  type WebhookDestination,
} from '../../index.ts';
import type { InputFault, InputMessage } from './message-input.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { SendTally, Undelivered } from './send-tally.ts';

/** Why a run came to its end. */
export type SendEnd =
  /** all of the input was sent */
  | 'input-over'
  /** there is a fault in the input */
  | 'faults'
  /** nothing of a part was delivered, for a reason that is not in its messages */
  | 'receiver-down'
  | 'interrupted'
  /** it could not be read on */
  | 'input-failed';

export interface SendRun {
  readonly destination: WebhookDestination;
  readonly options: SendOptions<'open' | 'strict', 1 | 2>;
  readonly input: ReadAhead;
  readonly tally: SendTally;
  readonly signal: AbortSignal;
  /** Keeps what was not delivered; its id is that of its attempts, so that a receiver knows it again. */
  readonly keep: (message: object) => Promise<void>;
}

export interface SendResult {
  readonly end: SendEnd;
  readonly faults: readonly InputFault[];
  /** Why the input could not be read on. */
  readonly error?: unknown;
}

/** As many as a request may hold: the progress then is that of requests. */
const PART_MESSAGES = 1000;

export async function sendParts(run: SendRun): Promise<SendResult> {
  for (;;) {
    const { faults, error } = await readOn(run);
    if (run.signal.aborted) return { end: 'interrupted', faults };
    if (error !== undefined) return { end: 'input-failed', faults, error };
    if (faults.length > 0) return { end: 'faults', faults };
    const part = run.input.take(PART_MESSAGES);
    if (part.length === 0) return { end: 'input-over', faults };
    const isOfUse = await sendPart(part, run);
    if (run.signal.aborted) return { end: 'interrupted', faults };
    if (!isOfUse) return { end: 'receiver-down', faults };
  }
}

/** What was sent before is to be told, whatever becomes of the input. */
async function readOn({
  input,
  signal,
}: SendRun): Promise<{ readonly faults: readonly InputFault[]; readonly error?: unknown }> {
  try {
    return { faults: await input.fill(signal) };
  } catch (error) {
    return { faults: [], error };
  }
}

/** Whether to go on after it. */
async function sendPart(part: readonly InputMessage[], run: SendRun): Promise<boolean> {
  const { tally, keep } = run;
  const { sent, report } = await sendUsable(part, run);
  tally.addReport(report);
  for (const undelivered of report.undelivered) {
    const found = sent[undelivered.index] as InputMessage;
    tally.addUndelivered(told(found, undelivered));
    await keep(withId(found.message, undelivered.message_id, run.options.format));
  }
  return report.delivered.length > 0 || report.undelivered.every(isAboutContent);
}

interface SentPart {
  readonly sent: readonly InputMessage[];
  readonly report: SendReport;
}

/** What cannot be sent at all is left out and kept: it must not hold up the others. */
async function sendUsable(part: readonly InputMessage[], run: SendRun): Promise<SentPart> {
  const { destination, options, signal, tally, keep } = run;
  let sent = part;
  for (;;) {
    try {
      const messages = sent.map(({ message }) => message) as never[];
      return { sent, report: await sendWebhook(destination, messages, { ...options, signal }) };
    } catch (error) {
      const unusable = unusableOf(error, sent);
      if (unusable === undefined) throw error;
      tally.addUndelivered(unusable.why);
      await keep(unusable.found.message);
      sent = sent.filter((one) => one !== unusable.found);
    }
  }
}

const UNUSABLE = { ERR_MESSAGE_TOO_LARGE: 'too-large', ERR_INVALID_MESSAGE: 'invalid' } as const;

function unusableOf(error: unknown, sent: readonly InputMessage[]) {
  if (!(error instanceof SecurityEventError)) return undefined;
  const reason = Object.hasOwn(UNUSABLE, error.code)
    ? UNUSABLE[error.code as keyof typeof UNUSABLE]
    : undefined;
  const found = sent[Number(error.path[0])];
  if (reason === undefined || found === undefined) return undefined;
  const why: Undelivered = { ...placeOf(found), reason, detail: error.message };
  return { found, why };
}

const placeOf = ({ line, index }: InputMessage) =>
  index === undefined ? { line } : { line, index };

function told(found: InputMessage, undelivered: UndeliveredMessage): Undelivered {
  const { message_id, reason, status, failure, detail } = undelivered;
  return {
    ...placeOf(found),
    message_id,
    reason,
    ...(status === undefined ? {} : { status }),
    ...(failure === undefined ? {} : { failure }),
    ...(detail === undefined ? {} : { detail }),
  };
}

/** An element of format v1 has no place for another id than its own. */
const withId = (message: object, message_id: string, format: 1 | 2 | undefined): object =>
  format === 1 ? message : { ...message, message_id };

/** Answers that may be the fault of what was sent: the next part may fare better. */
const ABOUT_CONTENT: ReadonlySet<number | undefined> = new Set([400, 413, 422, 500]);

const isAboutContent = ({ status }: UndeliveredMessage): boolean => ABOUT_CONTENT.has(status);
