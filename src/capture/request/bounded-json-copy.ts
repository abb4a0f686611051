/**
 * Copies any value of a request into plain JSON of bounded size. Never throws, never runs getters,
 * `toJSON` or iterators of the host (only a proxy's traps), never changes the original.
 */
import type { JsonObject, JsonValue } from '../../contract/index.ts';
import { REDACTED, type Redactor } from '../redaction/redactor.ts';
import { ByteBudget, jsonBytes } from './byte-budget.ts';
import { describePrimitive, describeSingleValue, elementsOf, ownValue } from './foreign-value.ts';
import { fitText } from './request-text.ts';

export interface CopyLimits {
  readonly maxDepth: number;
  readonly maxKeys: number;
  readonly maxStringLength: number;
  readonly maxBytes: number;
}

/** Begins every truncation mark. */
const TRUNCATED = '[truncated';
const MARK_KEY = `${TRUNCATED}]`;

const MAX_KEY_LENGTH = 256;

const UNREADABLE = '[unreadable]';
const COLON = 1;
const COMMA = 1;

/** Values that are no secret, even under a sensitive key. */
const HARMLESS_VALUES: ReadonlySet<unknown> = new Set<unknown>([
  null,
  true,
  false,
  // The leading space yields the empty string.
  ...' true false null undefined none enabled disabled not_set'.split(' '),
  ...'required optional read write on off yes no'.split(' '),
]);

/** Keys of the name in a `{ name, value }` pair, and of the value. Some systems write them with a capital. */
const LABELS = ['name', 'key', 'field', 'id', 'Name', 'Key', 'Field', 'Id'];
const VALUES = ['value', 'Value'];

/** `undefined`: the value exceeds the budget. */
type Copied = JsonValue | undefined;

export class BoundedJsonCopier {
  readonly #limits: CopyLimits;
  readonly #redactor: Redactor;
  readonly #budget: ByteBudget;
  readonly #ancestors: object[] = [];

  constructor(limits: CopyLimits, redactor: Redactor) {
    this.#limits = limits;
    this.#redactor = redactor;
    this.#budget = new ByteBudget(limits.maxBytes);
  }

  /** Returns the copy; `undefined` for null and undefined, or if no part of the value fits. */
  copy(value: unknown): JsonValue | undefined {
    return value === undefined || value === null ? undefined : this.#value(value);
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
        return this.#text(describePrimitive(value));
    }
  }

  #scalar(value: string | number | boolean | null): Copied {
    return this.#budget.take(jsonBytes(value)) ? value : undefined;
  }

  #number(value: number): Copied {
    if (this.#redactor.isSecretNumber(value)) return this.#scalar(REDACTED);
    // JSON has neither these nor a negative zero.
    if (!Number.isFinite(value)) return this.#scalar(String(value));
    return this.#scalar(value === 0 ? 0 : value);
  }

  #text(text: string): Copied {
    const fitting = this.#fit(text, this.#limits.maxStringLength);
    if (this.#budget.take(jsonBytes(fitting))) return fitting;
    const length = this.#budget.textLength();
    if (length < 1) return undefined;
    // Leaves no bytes for later values: this text's mark is more useful than fragments of them.
    this.#budget.exhaust();
    return this.#fit(text, length);
  }

  /** Returns the text with a mark if it was cut. */
  #fit(given: string, length: number): string {
    const { text, omitted } = fitText(given, length, this.#redactor);
    return omitted === 0 ? text : `${text}${TRUNCATED}: ${omitted} characters]`;
  }

  /** A proxy's traps may throw anywhere, and so may an object that only inherits from a built-in class. */
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
    const single = describeSingleValue(value);
    if (single !== undefined) return this.#scalar(single);
    if (this.#ancestors.includes(value)) return this.#scalar('[circular]');
    const { source, omitted } = elementsOf(value, this.#limits.maxKeys);
    const isArray = Array.isArray(source);
    if (this.#ancestors.length >= this.#limits.maxDepth) {
      return this.#scalar(`${TRUNCATED}: ${isArray ? 'array' : 'object'}]`);
    }
    if (!this.#budget.open()) return undefined;
    this.#ancestors.push(value);
    const copy = isArray ? this.#array(source, omitted) : this.#members(source, omitted);
    this.#ancestors.pop();
    return copy;
  }

  #array(source: readonly unknown[], alreadyOmitted: number): JsonValue[] {
    const copy: JsonValue[] = [];
    const { length } = source;
    while (copy.length < Math.min(length, this.#limits.maxKeys) && this.#budget.take(COMMA)) {
      const copied = this.#value(readFrom(source, copy.length));
      if (copied === undefined) break;
      copy.push(copied);
    }
    const omitted = length - copy.length + alreadyOmitted;
    this.#budget.close(omitted > 0);
    if (omitted > 0) copy.push(`${TRUNCATED}: ${omitted} elements]`);
    return copy;
  }

  #members(source: object, alreadyOmitted: number): JsonObject {
    // Without a prototype `__proto__` is an ordinary key.
    const copy = Object.create(null) as JsonObject;
    const keys = Object.keys(source);
    let copiedKeys = 0;
    for (const key of keys.slice(0, this.#limits.maxKeys)) {
      if (!this.#member(copy, source, key)) break;
      copiedKeys += 1;
    }
    const omitted = keys.length - copiedKeys + alreadyOmitted;
    this.#budget.close(omitted > 0);
    if (omitted > 0) copy[MARK_KEY] = `${omitted} keys`;
    return copy;
  }

  /** Copies one key. Returns false if it does not fit. */
  #member(copy: JsonObject, source: object, key: string): boolean {
    const value = readFrom(source, key);
    // As in JSON, undefined counts as absent.
    if (value === undefined) return true;
    const written = this.#fit(key, MAX_KEY_LENGTH);
    if (!this.#budget.take(jsonBytes(written) + COLON + COMMA)) return false;
    const copied = this.#isHidden(source, key, value) ? this.#scalar(REDACTED) : this.#value(value);
    if (copied === undefined) return false;
    copy[written] = copied;
    return true;
  }

  #isHidden(source: object, key: string, value: unknown): boolean {
    if (HARMLESS_VALUES.has(value)) return false;
    if (this.#isSecret(key, value)) return true;
    if (!VALUES.includes(key)) return false;
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
