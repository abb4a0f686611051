/** One request and what became of it, as text for people and as lines for programs. */
import type { ReceivedMessage, RefusedElement } from '../../receiver/index.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import { counted, wholeNumber } from '../quantities.ts';
import { paint, type TerminalOutput } from '../terminal.ts';
import { messageRows, messageTitle } from './message-rows.ts';
import type { RefusedRequest } from './received-request.ts';

export interface Delivery {
  /** Which request it was, from 1. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly method: string;
  /** The request target, as sent. */
  readonly target: string;
  readonly bytes: number;
  readonly messages: readonly ReceivedMessage[];
  /** Ids of messages that came before, and were answered with success then. */
  readonly repeated: ReadonlySet<string>;
  readonly refusal?: RefusedRequest;
  /** What the sender is answered. */
  readonly status: number;
  /** Who decided on that, where it was not the receiver: `--fail`, or what it was forwarded to. */
  readonly decidedBy?: string;
}

/** So many messages of one request are shown whole; of the others, how many of each type there are. */
const MAX_SHOWN = 20;
const MAX_ISSUES = 20;

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 19);

/** One block of lines, with an empty one at its end. */
export function deliveryText(delivery: Delivery, output: TerminalOutput): string {
  const { messages, refusal } = delivery;
  const shown = messages.slice(0, MAX_SHOWN);
  const lines = [
    headline(delivery, output),
    ...(refusal === undefined ? [] : refusalLines(refusal)),
    ...shown.flatMap((found) => messageLines(found, delivery, output)),
    ...rest(messages.slice(MAX_SHOWN)),
  ];
  return `${lines.join('\n')}\n\n`;
}

function headline(delivery: Delivery, output: TerminalOutput): string {
  const { number, receivedAt, method, target, bytes, status, decidedBy, refusal } = delivery;
  const isFine = status >= 200 && status < 300;
  const verdict =
    refusal === undefined
      ? paint(output, 'green', `verified, ${counted(delivery.messages.length, 'message')}`)
      : paint(output, 'red', `refused: ${refusal.reason}`);
  const by = decidedBy === undefined ? '' : ` (${decidedBy})`;
  const answer = paint(output, isFine ? 'green' : 'yellow', `${status}${by}`);
  const where = `${printable(method)} ${printable(target.slice(0, 200))}`;
  const facts = `${timeOf(receivedAt)}  ${where}  ${wholeNumber(bytes)} bytes`;
  return `${paint(output, 'bold', `#${number}`)}  ${facts}  ${verdict} -> ${answer}`;
}

function refusalLines({ reason, explanation, elements }: RefusedRequest): string[] {
  if (explanation !== undefined) {
    const certainty = explanation.isProven ? 'proven' : 'guessed';
    return [`  ${certainty}: ${explanation.text}`];
  }
  if (elements !== undefined) return issueLines(elements);
  const advice = REFUSAL_ADVICE[reason];
  return advice === undefined ? [] : [`  ${advice}`];
}

const REFUSAL_ADVICE: Readonly<Record<string, string>> = {
  method: 'Webhooks are sent with POST.',
  path: 'Another path than --path says.',
  'content-type': 'Expected Content-Type: application/json in UTF-8, and no Content-Encoding.',
  'body-too-large': 'The body has more than 2 MiB.',
  'body-invalid': 'Expected a JSON array of 1 to 1000 messages in UTF-8.',
  incomplete: 'The sender went away before the end of its body.',
};

function issueLines(elements: readonly RefusedElement[]): string[] {
  const issues = elements.flatMap(({ index, issues: found }) =>
    found.map(
      ({ path, message }) => `  ${printable([index, ...path].join('.'))}: ${printable(message)}`,
    ),
  );
  const more = issues.length - MAX_ISSUES;
  return more > 0 ? [...issues.slice(0, MAX_ISSUES), `  … and ${more} more`] : issues;
}

function messageLines(
  found: ReceivedMessage,
  { repeated, receivedAt }: Delivery,
  output: TerminalOutput,
): string[] {
  const id = found.id === null ? 'without id' : printable(found.id.slice(0, 200));
  const again =
    found.id !== null && repeated.has(found.id) ? paint(output, 'yellow', '  came before') : '';
  const format = found.format === 1 ? '  format 1' : '';
  const title = paint(output, found.unknown.length === 0 ? 'cyan' : 'yellow', messageTitle(found));
  return [
    `  ${title}  ${id}${format}${again}`,
    ...messageRows(found, receivedAt).map(
      ([label, text]) => `    ${paint(output, 'dim', label.padEnd(12))} ${text}`,
    ),
  ];
}

function rest(messages: readonly ReceivedMessage[]): string[] {
  if (messages.length === 0) return [];
  const counts = new Map<string, number>();
  for (const found of messages) {
    const title = messageTitle(found);
    counts.set(title, (counts.get(title) ?? 0) + 1);
  }
  const kinds = [...counts]
    .slice(0, MAX_SHOWN)
    .map(([title, count]) => `${wholeNumber(count)} ${title}`);
  return [`  … and ${counted(messages.length, 'more message')}: ${kinds.join(', ')}`];
}

/** One line for each message, or one for a request that was refused. */
export function deliveryJson(delivery: Delivery): string {
  const { number, receivedAt, status, refusal, repeated, messages } = delivery;
  const common = { request: number, receivedAt: new Date(receivedAt).toISOString(), status };
  if (refusal !== undefined) {
    const { reason, explanation, elements } = refusal;
    // Not the elements themselves: a program that wants them is better off with a receiver of its own.
    const invalid = elements?.map(({ index, issues }) => ({ index, issues }));
    return jsonLine({ event: 'refused', ...common, reason, explanation, invalid });
  }
  return messages
    .map(({ format, id, index, isKnownType, unknown, message }) => {
      const isRepeated = id !== null && repeated.has(id);
      const facts = { format, id, index, isKnownType, unknown, isRepeated };
      return jsonLine({ event: 'message', ...common, ...facts, message });
    })
    .join('');
}
