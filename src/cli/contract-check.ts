/** JSON values against the contract: as what they are taken, and what is wrong with them. */
import { isUtf8 } from 'node:buffer';
import {
  type Contract,
  contract,
  type Dialect,
  MAX_MESSAGES_PER_REQUEST,
  type Reading,
} from '../contract/index.ts';
import { findJsonFault } from './json-fault.ts';
import type { JsonPiece } from './json-splitter.ts';

interface ShapeRow {
  readonly schema: keyof Contract;
  /** How one is called, and several. */
  readonly names: readonly [string, string];
  /** Of an array at the top, what its elements are. A list of the same without it. */
  readonly elements?: Shape;
}

/** What values can be checked as. */
export type Shape = 'record' | 'line' | 'message' | 'message-v1' | 'body' | 'body-v1';

export const SHAPES: Readonly<Record<Shape, ShapeRow>> = {
  record: { schema: 'LogRecord', names: ['record', 'records'] },
  line: { schema: 'LogLine', names: ['log line', 'log lines'] },
  message: { schema: 'WebhookMessageV2', names: ['message', 'messages'] },
  'message-v1': {
    schema: 'WebhookMessageV1',
    names: ['message of format v1', 'messages of format v1'],
  },
  body: { schema: 'WebhookBodyV2', names: ['body', 'bodies'], elements: 'message' },
  'body-v1': {
    schema: 'WebhookBodyV1',
    names: ['body of format v1', 'bodies of format v1'],
    elements: 'message-v1',
  },
};

export interface ContractFault {
  /** From 1: where the value begins, or where it stops being JSON. */
  readonly line: number;
  /** Of an element of an array at the top, from 0. */
  readonly index?: number;
  /** As what it was checked; absent where it was none of them. */
  readonly as?: Shape;
  /** Within the value, or the element. */
  readonly path: readonly PropertyKey[];
  /** What was expected and what was found; words of vocabularies and kinds, no payload. */
  readonly message: string;
}

export interface Judgement {
  /** Absent where it was not taken for anything. */
  readonly as?: Shape;
  /** False for what is told of an array whose elements are judged one by one. */
  readonly isValue: boolean;
  readonly faults: readonly ContractFault[];
}

export interface CheckOptions {
  /** Absent: each value as what its keys say it is. */
  readonly as?: Shape | undefined;
  readonly dialect?: Dialect | undefined;
  readonly reading?: Reading | undefined;
  readonly maxValueBytes: number;
}

export type Judge = (piece: JsonPiece) => Judgement;

/** Judges pieces, one at a time. */
export function createJudge(options: CheckOptions): Judge {
  const { as, dialect = 'strict', reading = 'emitted', maxValueBytes } = options;
  const schemas = contract({ dialect, reading });
  return (piece) => {
    const asked = piece.index === undefined ? as : elementsOf(as);
    switch (piece.kind) {
      case 'value':
        return judgeValue(piece, asked, schemas);
      case 'array':
        return judgeArray(piece, as);
      default:
        return refuse(piece, OTHER_FAULTS[piece.kind](maxValueBytes), asked);
    }
  };
}

const OTHER_FAULTS: Readonly<
  Record<Exclude<JsonPiece['kind'], 'value' | 'array'>, (maxValueBytes: number) => string>
> = {
  'too-long': (maxValueBytes) => `expected at most ${maxValueBytes} bytes, found more`,
  'not-closed': () => 'expected `]` at the end of the array, found the end',
  'text-after': () => 'expected the end of the line, found more text',
};

function refuse(piece: JsonPiece, message: string, as: Shape | undefined): Judgement {
  const isValue = piece.kind === 'value' || piece.kind === 'too-long';
  return {
    ...taken(as),
    isValue,
    faults: [{ ...placeOf(piece), ...taken(as), path: [], message }],
  };
}

const taken = (as: Shape | undefined): { readonly as?: Shape } => (as === undefined ? {} : { as });

const placeOf = ({ line, index }: JsonPiece): { readonly line: number; readonly index?: number } =>
  index === undefined ? { line } : { line, index };

/** D31 bounds the elements of a body; a list of messages or records may be of any length. */
function judgeArray(piece: JsonPiece & { kind: 'array' }, as: Shape | undefined): Judgement {
  const isBody = as !== undefined && SHAPES[as].elements !== undefined;
  const { count } = piece;
  if (!isBody || (count >= 1 && count <= MAX_MESSAGES_PER_REQUEST)) {
    return { ...taken(as), isValue: false, faults: [] };
  }
  const bound = count === 0 ? 'at least 1' : `at most ${MAX_MESSAGES_PER_REQUEST}`;
  return refuse(piece, `expected ${bound} elements, found ${count}`, as);
}

function judgeValue(
  piece: JsonPiece & { kind: 'value' },
  asked: Shape | undefined,
  schemas: Contract,
): Judgement {
  const json = readJson(piece.bytes);
  if ('fault' in json) {
    const { fault, linesBefore = 0 } = json;
    return refuse({ ...piece, line: piece.line + linesBefore }, fault, asked);
  }
  const as = asked ?? recognise(json.value);
  if (as === undefined) return refuse(piece, notRecognised(json.value), as);
  const { error } = schemas[SHAPES[as].schema].safeParse(json.value);
  const issues = error?.issues ?? [];
  const faults = issues.map(({ path, message }) => ({ ...placeOf(piece), as, path, message }));
  return { as, isValue: true, faults };
}

const elementsOf = (as: Shape | undefined): Shape | undefined =>
  as === undefined ? undefined : (SHAPES[as].elements ?? as);

type Json = { readonly value: unknown } | { readonly fault: string; readonly linesBefore?: number };

/** A value, or why there is none: in words that quote nothing of it. */
export function readJson(bytes: Buffer): Json {
  if (!isUtf8(bytes)) return { fault: 'expected JSON in UTF-8, found bytes that are not' };
  const text = bytes.toString();
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    const fault = findJsonFault(text);
    if (fault === undefined) return { fault: 'expected JSON, found other text' };
    const { at, expected, found } = fault;
    return {
      fault: `expected ${expected}, found ${found} (character ${at + 1} of the value)`,
      linesBefore: text.slice(0, at).split('\n').length - 1,
    };
  }
}

/** The keys that only one of the shapes has; the first that a value has tells its shape. */
const TELLING_KEYS: readonly (readonly [string, Shape])[] = [
  ['svc_payload_type', 'message-v1'],
  ['message_type', 'message'],
  ['event_name', 'record'],
];

/** The five keys of a record: with others it is a line, which may have those of a log platform (D17). */
const RECORD_KEYS = ['context', 'detected_at', 'event_name', 'event_version', 'payload'];

function recognise(value: unknown): Shape | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const shape = TELLING_KEYS.find(([key]) => Object.hasOwn(value, key))?.[1];
  if (shape !== 'record') return shape;
  return Object.keys(value).every((key) => RECORD_KEYS.includes(key)) ? 'record' : 'line';
}

function notRecognised(value: unknown): string {
  const keys = TELLING_KEYS.map(([key]) => `\`${key}\``).join(', ');
  return `expected an object with one of the keys ${keys}, found ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object without them';
  return `a ${typeof value}`;
}
