/** Faults and counts in words, for people and for programs. */
import { type ContractFault, type Judgement, SHAPES, type Shape } from './contract-check.ts';
import { jsonLine } from './json-line.ts';
import { printable } from './printable.ts';
import { wholeNumber } from './quantities.ts';
import { paint, type TerminalOutput } from './terminal.ts';

/** Keys of free-form JSON are payload: odd ones, and a long way down, are left out. */
const SHOWN_KEY = /^[\w.-]{1,64}$/;
const MAX_SHOWN_KEYS = 12;
const LEFT_OUT = '…';

/** A path without what may be payload. */
export function shownPath(path: readonly PropertyKey[]): (string | number)[] {
  const shown = path
    .slice(0, MAX_SHOWN_KEYS)
    .map((key) =>
      typeof key === 'number' ? key : SHOWN_KEY.test(String(key)) ? String(key) : LEFT_OUT,
    );
  return path.length > MAX_SHOWN_KEYS ? [...shown, LEFT_OUT] : shown;
}

/** `events.ndjson:3[7]: record: payload.ruleset: expected …, found …` */
export function faultLine(output: TerminalOutput, file: string, fault: ContractFault): string {
  const element = fault.index === undefined ? '' : `[${fault.index}]`;
  const place = printable(`${file}:${fault.line}${element}`);
  const parts = [fault.as ?? '', shownPath(fault.path).join('.'), fault.message];
  const told = printable(parts.filter((part) => part !== '').join(': '));
  return `${paint(output, 'bold', place)}: ${told}\n`;
}

/** The same for programs: one object on one line. */
export function faultJson(file: string, fault: ContractFault): string {
  const { line, index, as, path, message } = fault;
  return jsonLine({ file, line, index, as, path: shownPath(path), message });
}

/** What came of the values so far. */
export class Tally {
  readonly #values = new Map<Shape | undefined, number>();
  #faulty = 0;
  #faults = 0;

  get faults(): number {
    return this.#faults;
  }

  add({ as, isValue, faults }: Judgement): void {
    if (isValue) this.#values.set(as, (this.#values.get(as) ?? 0) + 1);
    if (isValue && faults.length > 0) this.#faulty += 1;
    this.#faults += faults.length;
  }

  /** `1,200 records, 3 messages, 1 value of no known kind: 12 faults in 4 of them` */
  text(): string {
    const kinds = [...this.#values].map(([as, count]) => counted(count, namesOf(as)));
    const what = kinds.length === 0 ? 'nothing to check' : kinds.join(', ');
    if (this.#faults === 0) return kinds.length === 0 ? what : `${what}: no fault`;
    const within = this.#faulty === 0 ? '' : ` in ${wholeNumber(this.#faulty)} of them`;
    return `${what}: ${counted(this.#faults, ['fault', 'faults'])}${within}`;
  }
}

const namesOf = (as: Shape | undefined): readonly [string, string] =>
  as === undefined ? ['value of no known kind', 'values of no known kind'] : SHAPES[as].names;

const counted = (count: number, [one, several]: readonly [string, string]): string =>
  `${wholeNumber(count)} ${count === 1 ? one : several}`;
