/** Converts values of the contract to those of the stores, and adds up ledgers. */
import { unusableOption } from '../option-rules.ts';
import { ownProperties } from '../own-properties.ts';
import type { DiscardReason, Ledger } from './stored.ts';

const PLAIN = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/**
 * Converts an id to a text that SQLite and PostgreSQL can store. They cannot store U+0000 or half a surrogate
 * pair, which ids may contain. Such ids are stored with the escapes of a JSON string.
 */
export const toText = (id: string): string =>
  PLAIN.test(id) ? id : JSON.stringify(id).slice(1, -1);

/** Reverses `toText`. Returns a damaged text unchanged. */
export function fromText(text: string): string {
  if (PLAIN.test(text)) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** Rounds down to an integer that the stores can hold: from 0 to 2^53 - 1. */
export const toWhole = (value: number): number =>
  Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);

const DEAD_LETTER_ID = /^\d{1,15}$/;

/** Converts the id of a dead letter to its number; 0 for an id that no dead letter has. */
export const deadLetterNumber = (id: string): number => (DEAD_LETTER_ID.test(id) ? Number(id) : 0);

/**
 * Converts the cursor of a page of dead letters to the number that the page begins after.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`: a reader of all pages that began again would never end
 */
export function cursorNumber(after = '0'): number {
  if (DEAD_LETTER_ID.test(after)) return Number(after);
  throw unusableOption({ expected: 'the `next` of a page' }, ['after']);
}

export function sumLedgers(ledgers: Iterable<Ledger>): Ledger {
  const sum = { accepted: 0, delivered: 0, pending: 0, dead: 0 };
  const discarded: Partial<Record<DiscardReason, number>> = ownProperties({});
  for (const ledger of ledgers) {
    sum.accepted += ledger.accepted;
    sum.delivered += ledger.delivered;
    sum.pending += ledger.pending;
    sum.dead += ledger.dead;
    for (const [reason, messages] of Object.entries(ledger.discarded)) {
      const key = reason as DiscardReason;
      discarded[key] = (discarded[key] ?? 0) + messages;
    }
  }
  return { ...sum, discarded };
}
