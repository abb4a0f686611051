/** A run of `send`, from its input to what is told at its end. */
import type { WebhookDestination } from '../../index.ts';
import { openInput } from '../input.ts';
import { bar, startProgress } from '../progress.ts';
import { counted, durationText, wholeNumber } from '../quantities.ts';
import type { Terminal } from '../terminal.ts';
import type { CheckedInput } from './check-input.ts';
import { readInput } from './message-input.ts';
import { ReadAhead } from './read-ahead.ts';
import { type SendResult, sendParts } from './send-parts.ts';
import type { SendOutcome } from './send-report.ts';
import type { SendSettings } from './send-settings.ts';
import { SendTally } from './send-tally.ts';
import { openUndeliveredFile, type UndeliveredFile } from './undelivered-file.ts';

export interface SendCall {
  readonly destination: WebhookDestination;
  readonly file: string | undefined;
  readonly settings: SendSettings;
  readonly terminal: Terminal;
}

const inputName = (file: string | undefined): string =>
  file === undefined || file === '-' ? 'standard input' : file;

export const nothingSent = (
  { faults, faultCount, count }: CheckedInput,
  { file }: SendCall,
): SendOutcome => ({
  tally: new SendTally(),
  end: 'faults',
  faults,
  faultCount,
  notTried: count ?? 0,
  isCutShort: count === undefined,
  firstNotTried: undefined,
  readUpToLine: undefined,
  inputName: inputName(file),
  kept: undefined,
  durationMs: 0,
});

const READ_AHEAD = { maxMessages: 2000, maxBytes: 32 * 1024 * 1024 };

export async function send({ count }: CheckedInput, call: SendCall): Promise<SendOutcome> {
  const { destination, file, settings, terminal } = call;
  const { clock, signal } = terminal;
  const keeper = await openKeeper(settings.undelivered);
  const startedAt = clock.monotonicMs();
  const elapsedMs = (): number => clock.monotonicMs() - startedAt;
  const tally = new SendTally();
  const rules = { format: settings.options.format, dialect: settings.dialect };
  const input = new ReadAhead(readInput(openInput(file, terminal).chunks, rules), READ_AHEAD);
  const progress = startProgress(terminal, () => progressText(tally, count, elapsedMs()));
  try {
    const { options } = settings;
    const keep = (message: object): Promise<void> => keeper.keep(message);
    const result = await sendParts({ destination, options, input, tally, signal, keep });
    const rest = await keepRest(result, {
      input,
      keeper,
      tally,
      signal,
      isPiped: count === undefined,
    });
    const kept = await keeper.close();
    return {
      tally,
      end: result.end,
      faults: result.faults,
      ...rest,
      error: result.error ?? rest.error ?? keeper.failure,
      notTried: count === undefined ? rest.notTried : leftOf(count, tally),
      isCutShort: count === undefined && rest.readUpToLine !== undefined,
      inputName: inputName(file),
      kept,
      durationMs: elapsedMs(),
    };
  } finally {
    await progress.stop();
    input.close();
    await keeper.close();
  }
}

/** A file that something is still written to has more in it than when it was checked. */
const leftOf = (count: number, { delivered, undelivered }: SendTally): number =>
  Math.max(0, count - delivered - undelivered);

/** Keeps what it can: that it cannot is told at the end, and is no reason to send no more. */
interface Keeper {
  readonly isAsked: boolean;
  readonly failure: unknown;
  keep(message: object): Promise<void>;
  /** What is in the file for good. */
  close(): Promise<SendOutcome['kept']>;
}

async function openKeeper(path: string | undefined): Promise<Keeper> {
  let file: UndeliveredFile | undefined =
    path === undefined ? undefined : await openUndeliveredFile(path);
  let failure: unknown;
  let kept: SendOutcome['kept'];
  return {
    isAsked: path !== undefined,
    get failure() {
      return failure;
    },
    async keep(message) {
      try {
        if (failure === undefined) await file?.write(message);
      } catch (error) {
        failure = error;
      }
    },
    async close() {
      const closing = file;
      file = undefined;
      try {
        await closing?.close();
        if (closing !== undefined && failure === undefined) {
          kept = { path: path ?? '', count: closing.count };
        }
      } catch (error) {
        failure ??= error;
      }
      return kept;
    },
  };
}

function progressText(tally: SendTally, count: number | undefined, elapsedMs: number): string {
  const { delivered, undelivered } = tally;
  const whole = count === undefined ? '' : ` of ${wholeNumber(count)}`;
  const failed = undelivered === 0 ? '' : `, ${wholeNumber(undelivered)} not delivered`;
  const text = `${counted(delivered, 'message')}${whole} delivered${failed}, ${durationText(elapsedMs)}`;
  return `${bar(delivered + undelivered, count)}${text}`;
}

interface Rest {
  readonly input: ReadAhead;
  readonly keeper: Keeper;
  /** Whether it is read once only. */
  readonly isPiped: boolean;
  readonly tally: SendTally;
  readonly signal: AbortSignal;
}

type RestOutcome = Pick<
  SendOutcome,
  'notTried' | 'firstNotTried' | 'readUpToLine' | 'faultCount' | 'error'
>;

/**
 * What was read and not sent, and behind it all of the input where the receiver is down and it is to be
 * kept. An input that is at fault, or a person who waits for the end, is not read on.
 */
async function keepRest(
  { end, faults }: SendResult,
  { input, keeper, tally, signal, isPiped }: Rest,
): Promise<RestOutcome> {
  const firstNotTried = input.next;
  const readsOn = end === 'receiver-down' && keeper.isAsked;
  let faultCount = faults.length;
  let notTried = 0;
  let error: unknown;
  for (;;) {
    for (const { message } of input.take(input.waiting)) {
      notTried += 1;
      // Of a file that nothing was sent of, its owner has all there is; what a pipe gave is nowhere else.
      if (tally.requests > 0 || isPiped) await keeper.keep(message);
    }
    if (!readsOn || input.isOver || error !== undefined) break;
    try {
      faultCount += (await input.fill(signal)).length;
    } catch (thrown) {
      error = thrown;
    }
  }
  const readUpToLine = input.isOver ? undefined : input.lastLine;
  return { notTried, firstNotTried, readUpToLine, faultCount, error };
}
