/**
 * Copies whatever a request brought into plain JSON of bounded size: never throws, never runs the
 * host's code (getters, `toJSON`, iterators of its own), never changes what it reads.
 */
import type { JsonObject, JsonValue } from '../../contract/index.ts';
import { REDACTED, type Redactor } from '../redaction/redactor.ts';
import { ByteRoom, jsonBytes } from './byte-room.ts';
import { cleanText, cutText } from './clean-text.ts';
import { elementsOf, ownValue, shownAs, singleForm } from './foreign-value.ts';

export interface CopyLimits {
  readonly maxDepth: number;
  readonly maxKeys: number;
  readonly maxStringLength: number;
  readonly maxBytes: number;
}

/** Begins every mark of what was left out, and is the key of the mark in an object. */
const TRUNCATED = '[truncated';
const MARK_KEY = `${TRUNCATED}]`;

const MAX_KEY_LENGTH = 256;
/** Looked at behind a cut: a secret that the cut halves must still be known for one. */
const SECRET_WINDOW = 1024;

const UNREADABLE = '[unreadable]';
const COLON = 1;
const COMMA = 1;

/** Of a sensitive key they say only whether it was filled in, or what is switched on. */
const TELLS_NOTHING: ReadonlySet<unknown> = new Set<unknown>([
  null,
  true,
  false,
  // With an empty text.
  ...' true false null undefined none enabled disabled not_set'.split(' '),
  ...'required optional read write on off yes no'.split(' '),
]);

/** In which member of `{ name, value }` the name of a parameter stands. */
const LABELS = ['name', 'key', 'field', 'id'] as const;

/** An element for which there was no room. */
const NO_ROOM = Symbol('no room');
type Copied = JsonValue | typeof NO_ROOM;

export class PlainCopier {
  readonly #limits: CopyLimits;
  readonly #redactor: Redactor;
  readonly #room: ByteRoom;
  readonly #ancestors: object[] = [];

  constructor(limits: CopyLimits, redactor: Redactor) {
    this.#limits = limits;
    this.#redactor = redactor;
    this.#room = new ByteRoom(limits.maxBytes);
  }

  /** The copy, or `undefined` where there was no room for anything of it. */
  copy(value: unknown): JsonValue | undefined {
    const copied = this.#value(value);
    return copied === NO_ROOM ? undefined : copied;
  }

  #value(value: unknown): Copied {
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'number':
        return this.#number(value);
      case 'boolean':
        return this.#scalar(value);
      case 'undefined':
        return this.#scalar(null);
      case 'object':
        return value === null ? this.#scalar(null) : this.#safely(value);
      default:
        return this.#text(shownAs(value));
    }
  }

  #scalar(value: string | number | boolean | null): Copied {
    return this.#room.take(jsonBytes(value)) ? value : NO_ROOM;
  }

  #number(value: number): Copied {
    if (this.#redactor.isSecretNumber(value)) return this.#scalar(REDACTED);
    // JSON has neither these nor a negative zero.
    if (!Number.isFinite(value)) return this.#scalar(String(value));
    return this.#scalar(value === 0 ? 0 : value);
  }

  #text(text: string): Copied {
    const fitting = this.#fit(text, this.#limits.maxStringLength);
    if (this.#room.take(jsonBytes(fitting))) return fitting;
    const length = this.#room.textLength();
    if (length < 1) return NO_ROOM;
    // Crumbs of what comes behind would tell less than that it is missing.
    this.#room.fill();
    return this.#fit(text, length);
  }

  /** Cleaned, masked, and at most `length` long, the mark apart. */
  #fit(text: string, length: number): string {
    const seen = cutText(text, length + SECRET_WINDOW);
    const isCut = seen.length < text.length;
    const masked = this.#redactor.maskText(cleanText(seen), isCut);
    if (!isCut && masked.length <= length) return masked;
    const kept = cutText(masked, length);
    const left = text.length - seen.length + masked.length - kept.length;
    return `${kept}${TRUNCATED}: ${left} characters]`;
  }

  /** A proxy's traps, or an object that poses as another, may throw anywhere. */
  #safely(value: object): Copied {
    const depth = this.#ancestors.length;
    try {
      return this.#object(value);
    } catch {
      this.#ancestors.length = depth;
      return this.#scalar(UNREADABLE);
    }
  }

  #object(value: object): Copied {
    const single = singleForm(value);
    if (single !== undefined) return this.#scalar(single);
    if (this.#ancestors.includes(value)) return this.#scalar('[circular]');
    const { source, more } = elementsOf(value, this.#limits.maxKeys);
    const isArray = Array.isArray(source);
    if (this.#ancestors.length >= this.#limits.maxDepth) {
      return this.#scalar(`${TRUNCATED}: ${isArray ? 'array' : 'object'}]`);
    }
    if (!this.#room.open()) return NO_ROOM;
    this.#ancestors.push(value);
    const copy = isArray ? this.#array(source, more) : this.#members(source, more);
    this.#ancestors.pop();
    return copy;
  }

  #array(source: readonly unknown[], more: number): JsonValue[] {
    const copy: JsonValue[] = [];
    const { length } = source;
    while (copy.length < Math.min(length, this.#limits.maxKeys) && this.#room.take(COMMA)) {
      const copied = this.#value(readFrom(source, copy.length));
      if (copied === NO_ROOM) break;
      copy.push(copied);
    }
    const left = length - copy.length + more;
    this.#room.close(left > 0);
    if (left > 0) copy.push(`${TRUNCATED}: ${left} elements]`);
    return copy;
  }

  #members(source: object, more: number): JsonObject {
    // Without a prototype there is no setter that a key could run: `__proto__` is a key like others.
    const copy = Object.create(null) as JsonObject;
    const keys = Object.keys(source);
    let looked = 0;
    for (const key of keys.slice(0, this.#limits.maxKeys)) {
      if (!this.#member(copy, source, key)) break;
      looked += 1;
    }
    const left = keys.length - looked + more;
    this.#room.close(left > 0);
    if (left > 0) copy[MARK_KEY] = `${left} keys`;
    return copy;
  }

  /** False where there was no room for it. */
  #member(copy: JsonObject, source: object, key: string): boolean {
    const value = readFrom(source, key);
    // As in JSON and in the contract, a key without a value is no key.
    if (value === undefined) return true;
    const written = this.#fit(key, MAX_KEY_LENGTH);
    if (!this.#room.take(jsonBytes(written) + COLON + COMMA)) return false;
    const copied = this.#isHidden(source, key, value) ? this.#scalar(REDACTED) : this.#value(value);
    if (copied === NO_ROOM) return false;
    copy[written] = copied;
    return true;
  }

  #isHidden(source: object, key: string, value: unknown): boolean {
    if (TELLS_NOTHING.has(value)) return false;
    if (this.#isSecret(key, value)) return true;
    if (key !== 'value') return false;
    return LABELS.some((member) => {
      const label = readFrom(source, member);
      return typeof label === 'string' && this.#isSecret(label, value);
    });
  }

  #isSecret(name: string, value: unknown): boolean {
    if (typeof value === 'string') return this.#redactor.isSecret(name, value);
    return this.#redactor.isSensitiveKey(name);
  }
}

function readFrom(source: object, key: PropertyKey): unknown {
  try {
    return ownValue(source, key);
  } catch {
    return UNREADABLE;
  }
}
