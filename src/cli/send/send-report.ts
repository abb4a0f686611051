/** What `send` tells at its end, for people and for programs. */
import { shownPath } from '../fault-text.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import { counted, durationText, wholeNumber } from '../quantities.ts';
import { paint, type TerminalOutput } from '../terminal.ts';
import type { InputFault, InputPlace } from './message-input.ts';
import type { SendEnd } from './send-parts.ts';
import type { SendTally, Undelivered, UndeliveredGroup } from './send-tally.ts';

export interface SendOutcome {
  readonly tally: SendTally;
  readonly end: SendEnd;
  readonly faults: readonly InputFault[];
  /** What failed beside the messages: reading on, or keeping what was not delivered. */
  readonly error?: unknown;
  /** How many faults there are, where more than those listed were seen. */
  readonly faultCount: number;
  /** Messages that were read, or are known to be there, and were not sent. */
  readonly notTried: number;
  /** Whether there may be more behind them. */
  readonly isCutShort: boolean;
  /** Where the first of them begins. */
  readonly firstNotTried: InputPlace | undefined;
  /** The line of the last message that was read, where the input was not read to its end. */
  readonly readUpToLine: number | undefined;
  readonly inputName: string;
  /** The file that has what was not delivered, and how many. */
  readonly kept: { readonly path: string; readonly count: number } | undefined;
  readonly durationMs: number;
}

export const isDelivered = ({ tally, end, notTried }: SendOutcome): boolean =>
  end === 'input-over' && tally.undelivered === 0 && notTried === 0;

const MAX_SHOWN_FAULTS = 20;

/** `events.ndjson:3[7]: message.ips: expected …, found …` */
function faultText(name: string, { line, index, path, text }: InputFault): string {
  const place = `${name}:${line}${index === undefined ? '' : `[${index}]`}`;
  const keys = shownPath(path).join('.');
  return printable([place, keys, text].filter((part) => part !== '').join(': '));
}

function faultLines({ faults, faultCount, inputName }: SendOutcome): string[] {
  const lines = faults.slice(0, MAX_SHOWN_FAULTS).map((fault) => faultText(inputName, fault));
  const more = faultCount - lines.length;
  return more > 0 ? [...lines, `… and ${wholeNumber(more)} more`] : lines;
}

/** For people. */
export function sendReportText(outcome: SendOutcome, output: TerminalOutput): string {
  const lines = [
    ...faultLines(outcome),
    summary(outcome, output),
    ...undeliveredLines(outcome.tally),
    ...notTriedLines(outcome),
    ...keptLines(outcome),
  ];
  return `${lines.join('\n')}\n`;
}

function summary(outcome: SendOutcome, output: TerminalOutput): string {
  const { tally, durationMs } = outcome;
  const { delivered, requests, resent } = tally;
  if (requests === 0) {
    const why = isDelivered(outcome) ? 'There was nothing to send.' : 'Nothing was sent.';
    return paint(output, isDelivered(outcome) ? 'green' : 'red', why);
  }
  const again = resent === 0 ? '' : `, ${wholeNumber(resent)} of them again`;
  const verdict = `Delivered ${counted(delivered, 'message')}`;
  const facts = `in ${counted(requests, 'request')}${again}, ${durationText(durationMs)}.`;
  return `${paint(output, isDelivered(outcome) ? 'green' : 'red', verdict)} ${facts}`;
}

const REASONS: Readonly<Record<Undelivered['reason'], string>> = {
  'attempts-exhausted': 'after every attempt',
  'horizon-passed': 'within the time of the schedule',
  'wait-too-long': 'the receiver asked for a longer wait',
  'too-large': 'too large for a request',
  aborted: 'interrupted',
  invalid: 'not as the contract says',
};

function undeliveredLines(tally: SendTally): string[] {
  if (tally.undelivered === 0) return [];
  const title = `Not delivered: ${counted(tally.undelivered, 'message')}`;
  return [title, ...tally.groups.flatMap(groupLines)];
}

function groupLines({ first, count }: UndeliveredGroup): string[] {
  const { reason, status, failure, detail, message_id, line, index } = first;
  const cause = status === undefined ? failure : `status ${status}`;
  const words = [cause, REASONS[reason]].filter((word) => word !== undefined).join(', ');
  const place = `line ${line}${index === undefined ? '' : `, element ${index}`}`;
  const id = message_id === undefined ? '' : `, ${printable(message_id.slice(0, 200))}`;
  const lead = count === 1 ? 'it is' : 'the first is';
  const head = `  ${wholeNumber(count)}  ${words}; ${lead} of ${place}${id}`;
  return detail === undefined ? [head] : [head, `     ${printable(detail)}`];
}

const WHY_NOT_TRIED: Readonly<Record<SendEnd, string>> = {
  'input-over': '',
  faults: 'the input has a fault',
  'receiver-down': 'the receiver took nothing of what was sent before',
  interrupted: 'it was interrupted',
  'input-failed': 'the input could not be read on',
};

function notTriedLines({ end, notTried, isCutShort, firstNotTried, tally }: SendOutcome): string[] {
  if (tally.requests === 0 || (notTried === 0 && !isCutShort)) return [];
  const what = notTried === 0 ? 'the rest of the input' : counted(notTried, 'message');
  const open = notTried > 0 && isCutShort ? ' and the rest of the input' : '';
  const from = firstNotTried === undefined ? '' : `, from line ${firstNotTried.line} on`;
  return [`Not tried: ${what}${open}${from}: ${WHY_NOT_TRIED[end]}.`];
}

function keptLines({ kept, readUpToLine }: SendOutcome): string[] {
  if (kept === undefined || kept.count === 0) return [];
  const line = `${counted(kept.count, 'message')} to be sent again: ${printable(kept.path)}`;
  return readUpToLine === undefined
    ? [line]
    : [line, `What follows line ${readUpToLine} of the input was not read, and is not in there.`];
}

/** For programs. */
export function sendReportJson(outcome: SendOutcome): string {
  const { tally, end, faults, faultCount, notTried, isCutShort, kept, durationMs } = outcome;
  return jsonLine({
    ok: isDelivered(outcome),
    end,
    delivered: tally.delivered,
    undelivered: tally.undelivered,
    notTried,
    isCutShort,
    requests: tally.requests,
    resent: tally.resent,
    bytes: tally.bytes,
    durationMs: Math.round(durationMs),
    undeliveredMessages: tally.listed,
    faultCount,
    faults: faults.map(({ line, index, path, text }) => ({
      line,
      index,
      path: shownPath(path),
      message: text,
    })),
    readUpToLine: outcome.readUpToLine,
    undeliveredFile: kept,
  });
}
