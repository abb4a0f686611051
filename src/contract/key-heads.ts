/**
 * The keys of free-form JSON as they stand before their values. They come again and again, and looking one
 * up is quicker than searching it for what has to be escaped. Bounded, since strangers choose some of them.
 */

/** A key, its colon and what stands before it. */
export interface KeyHead {
  /** Of an object's first value. */
  readonly first: string;
  readonly next: string;
}

const MAX_KEPT_KEYS = 200;
const MAX_KEPT_LENGTH = 40;

const headOf = (key: string): KeyHead => {
  const text = `${JSON.stringify(key)}:`;
  return { first: `{${text}`, next: `,${text}` };
};

export class KeyHeads {
  readonly #kept = new Map<string, KeyHead>();

  of(key: string): KeyHead {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const head = headOf(key);
    const hasRoom = this.#kept.size < MAX_KEPT_KEYS && key.length <= MAX_KEPT_LENGTH;
    if (hasRoom) this.#kept.set(key, head);
    return head;
  }
}
