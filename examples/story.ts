/** How the examples print their story. */
import { LogRecord } from 'security-event-delivery/contract';

/** Prints one line: who does what. */
export const say = (who: string, text: string): void =>
  console.log(shorten(`${who.padEnd(12)} ${text}`));

/** Cuts a line at 80 columns. */
export const shorten = (line = ''): string => (line.length > 80 ? `${line.slice(0, 79)}…` : line);

type Cell = string | number | null | undefined;

/** Prints a table of at most 80 columns. The first row is its head. */
export function printTable(rows: readonly (readonly Cell[])[]): void {
  const texts = rows.map((row) => row.map((cell) => String(cell ?? '-')));
  const [head = [], ...body] = texts;
  const widths = head.map((_, at) => Math.max(...texts.map((row) => row[at]?.length ?? 0)));
  console.log();
  for (const row of [head, widths.map((width) => '-'.repeat(width)), ...body]) {
    const cells = row.map((text, at) => text.padEnd(widths[at] ?? 0));
    console.log(shorten(cells.join('  ').trimEnd()));
  }
}

/** Prints what a log line says about a request. */
export function printRecord(line = ''): void {
  const { event_name, context, payload } = LogRecord.parse(JSON.parse(line));
  const { actor, http } = context;
  const { response } = http ?? {};
  const answer = `${response?.status ?? 'not yet'}${response?.blocked ? ', blocked' : ''}`;
  const collected = Object.entries(http?.request.parameters ?? {});
  printTable([
    ['Log record', event_name],
    ['payload', JSON.stringify(payload)],
    ['client', actor?.ip?.address],
    ['user', JSON.stringify(actor?.identifiers)],
    ['request', `${http?.request.verb} ${http?.request.path}`],
    ...collected.map(([name, value]) => [name, JSON.stringify(value)]),
    ['answer', answer],
  ]);
}
