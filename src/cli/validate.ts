/** `validate`: checks JSON values against the contract. */
import { type Contract, contract, MAX_MESSAGES_PER_REQUEST } from '../contract/index.ts';
import { defineCommand, flag, option } from './command.ts';
import { inputName, type JsonItem, openInput, readJson } from './input.ts';
import { endReasonOf, jsonLine, paint, printable, type Terminal } from './terminal.ts';
import { counted, dialectOf, oneOf, wholeNumber } from './values.ts';

type Shape = 'record' | 'line' | 'message' | 'message-v1' | 'body' | 'body-v1';

type ShapeRow = readonly [schema: keyof Contract, one: string, many: string, elements?: Shape];

const SHAPES: Readonly<Record<Shape, ShapeRow>> = {
  record: ['LogRecord', 'record', 'records'],
  line: ['LogLine', 'log line', 'log lines'],
  message: ['WebhookMessageV2', 'message', 'messages'],
  'message-v1': ['WebhookMessageV1', 'format 1 message', 'format 1 messages'],
  body: ['WebhookBodyV2', 'body', 'bodies', 'message'],
  'body-v1': ['WebhookBodyV1', 'format 1 body', 'format 1 bodies', 'message-v1'],
};

/** The key that identifies a shape; the first one found decides. */
const IDENTIFYING_KEYS: readonly (readonly [string, Shape])[] = [
  ['svc_payload_type', 'message-v1'],
  ['message_type', 'message'],
  ['event_name', 'record'],
];

/** An object with more keys than a record has is a log line: platforms add their own (D17). */
const RECORD_KEYS = ['context', 'detected_at', 'event_name', 'event_version', 'payload'];

export function recognise(value: unknown): Shape | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const shape = IDENTIFYING_KEYS.find(([key]) => Object.hasOwn(value, key))?.[1];
  if (shape !== 'record') return shape;
  return Object.keys(value).every((key) => RECORD_KEYS.includes(key)) ? 'record' : 'line';
}

export function notRecognised(value: unknown): string {
  const keys = IDENTIFYING_KEYS.map(([key]) => `\`${key}\``).join(', ');
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  const found = kind === 'a object' ? 'an object without them' : kind;
  return `expected an object with one of the keys ${keys}, found ${found}`;
}

interface Place {
  readonly line: number;
  /** Index of an element of a top-level array. */
  readonly index?: number | undefined;
}

export interface Issue extends Place {
  readonly as?: Shape | undefined;
  readonly path: readonly PropertyKey[];
  /** What was expected and what was found. Quotes no payload. */
  readonly message: string;
}

/** Other keys are not printed: in free-form JSON, keys may be personal data. */
const SHOWN_KEY = /^[\w.-]{1,64}$/;
const MAX_SHOWN_KEYS = 12;

function shownPath(path: readonly PropertyKey[]): (string | number)[] {
  const keys = path.slice(0, MAX_SHOWN_KEYS).map((key) => {
    if (typeof key === 'number') return key;
    return SHOWN_KEY.test(String(key)) ? String(key) : '…';
  });
  return path.length > MAX_SHOWN_KEYS ? [...keys, '…'] : keys;
}

/** Returns the two parts of `events.ndjson:3[7]: record: payload.ruleset: expected …, found …`. */
export function issueText(
  file: string,
  { line, index, as, path, message }: Issue,
): readonly [place: string, text: string] {
  const place = `${file}:${line}${index === undefined ? '' : `[${index}]`}`;
  const parts = [as ?? '', shownPath(path).join('.'), message].filter((part) => part !== '');
  return [printable(place), `: ${printable(parts.join(': '))}\n`];
}

/** Finds the issues of values, and counts both. `as` is their shape, if it is given. */
class Checker {
  readonly #as: Shape | undefined;
  readonly #schemas: Contract;
  readonly #counts = new Map<Shape | undefined, number>();
  #invalid = 0;
  issueCount = 0;
  /** Whether a message had unknown keys, as messages from a newer sender do. */
  hasUnknownKeys = false;

  constructor(as: Shape | undefined, schemas: Contract) {
    this.#as = as;
    this.#schemas = schemas;
  }

  get isValid(): boolean {
    return this.issueCount === 0 && this.#counts.size > 0;
  }

  check(item: JsonItem): readonly Issue[] {
    const { line } = item;
    const as = this.#as;
    if ('error' in item) return this.#count(as, [{ line, as, path: [], message: item.error }]);
    const { value } = item;
    if (!Array.isArray(value)) return this.#checkValue(value, as, { line });
    const elements = as && (SHAPES[as][3] ?? as);
    const issues = value.flatMap((it, index) => this.#checkValue(it, elements, { line, index }));
    // D31 limits a body. A list of messages or records may have any length.
    const isBody = as !== undefined && elements !== as;
    if (!isBody || (value.length >= 1 && value.length <= MAX_MESSAGES_PER_REQUEST)) return issues;
    const bound = value.length === 0 ? 'at least 1' : `at most ${MAX_MESSAGES_PER_REQUEST}`;
    this.issueCount += 1;
    const message = `expected ${bound} elements, found ${value.length}`;
    return [...issues, { line, as, path: [], message }];
  }

  #checkValue(value: unknown, asked: Shape | undefined, place: Place): readonly Issue[] {
    const as = asked ?? recognise(value);
    if (as === undefined) {
      return this.#count(as, [{ ...place, path: [], message: notRecognised(value) }]);
    }
    const issues = this.#schemas[SHAPES[as][0]].safeParse(value).error?.issues ?? [];
    if (as !== 'record' && as !== 'line') {
      this.hasUnknownKeys ||= issues.some(({ code }) => code === 'unrecognized_keys');
    }
    return this.#count(
      as,
      issues.map(({ path, message }) => ({ ...place, as, path, message })),
    );
  }

  #count(as: Shape | undefined, issues: readonly Issue[]): readonly Issue[] {
    this.#counts.set(as, (this.#counts.get(as) ?? 0) + 1);
    this.issueCount += issues.length;
    if (issues.length > 0) this.#invalid += 1;
    return issues;
  }

  /** `1,200 records, 3 messages: 12 issues in 4 of them` */
  summary(): string {
    const kinds = [...this.#counts].map(([as, count]) =>
      as === undefined
        ? counted(count, 'unknown value')
        : counted(count, SHAPES[as][1], SHAPES[as][2]),
    );
    if (kinds.length + this.issueCount === 0) return 'empty input: nothing to check';
    const what = kinds.join(', ') || 'no values';
    if (this.issueCount === 0) return `${what}: valid`;
    const within = this.#invalid === 0 ? '' : ` in ${wholeNumber(this.#invalid)} of them`;
    return `${what}: ${counted(this.issueCount, 'issue')}${within}`;
  }
}

interface Printing {
  readonly isJson: boolean;
  readonly terminal: Terminal;
}

async function printIssues(checker: Checker, name: string, { isJson, terminal }: Printing) {
  const { output, signal } = terminal;
  const file = inputName(name);
  const lineOf = (issue: Issue): string => {
    const { path, ...facts } = issue;
    if (isJson) return jsonLine({ file, ...facts, path: shownPath(path) });
    const [place, rest] = issueText(file, issue);
    return paint(output, 'bold', place) + rest;
  };
  for await (const items of readJson(openInput(name, terminal))) {
    signal.throwIfAborted();
    // One write per chunk: a write for each issue would wait for each.
    const lines = items.flatMap((item) => checker.check(item).map(lineOf));
    if (lines.length > 0) await output.write(lines.join(''));
  }
}

const RECEIVED_HINT =
  'If you received these messages, use --reading received: it accepts what newer senders add.\n';

const validate = defineCommand({
  summary: 'Checks records, log lines and messages against the contract.',
  usage: '[FILE…]',
  options: {
    as: option(
      'SHAPE',
      `Shape of each value: ${Object.keys(SHAPES).join(', ')}. Default: recognised by its keys.`,
    ),
    dialect: option(
      'strict|open',
      'open accepts values that the contract does not list. Default strict.',
    ),
    reading: option(
      'emitted|received',
      'received accepts unknown keys; use it for a captured body. Default emitted.',
    ),
    json: flag('Print each issue as a line of JSON.'),
  },
  notes: [
    'FILE is NDJSON (one value per line, any size) or one JSON document of up to 64 MiB; standard ' +
      'input if missing or `-`. An array is checked element by element.',
    'Prints issues as FILE:LINE[INDEX]: SHAPE: PATH: expected …, found …, without payload values, ' +
      'and a summary to standard error. Exits with 1 on issues or empty input.',
  ],
  examples: [
    'security-events validate events.ndjson',
    '# A captured request body',
    'security-events validate --as body --reading received body.json',
    'kubectl logs deploy/shop | grep svc.ev0 | security-events validate --as line',
  ],
  async run({ options, positionals, terminal }) {
    const { as, dialect, reading, json } = options;
    const { errors, signal } = terminal;
    const checker = new Checker(
      as === undefined ? undefined : oneOf('as', as, Object.keys(SHAPES) as Shape[]),
      contract({
        dialect: dialectOf(dialect),
        reading: oneOf('reading', reading ?? 'emitted', ['emitted', 'received']),
      }),
    );
    try {
      const names = positionals.length === 0 ? ['-'] : positionals;
      for (const name of names)
        await printIssues(checker, name, { isJson: json === true, terminal });
    } catch (error) {
      // A reader that has left, such as `head`, has seen an issue: nothing else is printed.
      if (endReasonOf(signal) === 'output-closed') return 1;
      throw error;
    }
    const { isValid, hasUnknownKeys } = checker;
    await errors.write(`${paint(errors, isValid ? 'green' : 'red', checker.summary())}\n`);
    if (hasUnknownKeys && reading === undefined) await errors.write(RECEIVED_HINT);
    return isValid ? 0 : 1;
  },
});

export const commands = { validate };
