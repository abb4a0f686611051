/** A message and its application as a queue stores them: plain data. Part of the contract in queue.ts. */

/** 1 is deprecated; its elements have no slots (D45). */
export type Format = 1 | 2;

/** A message as it waits to be sent: plain data in fields of its own, whatever its class, so that any queue can keep it. */
export interface StoredMessage {
  readonly messageId: string;
  readonly format: Format;
  /** UTF-8 JSON; in format 2 the values of `date_created` and `retry_count` are left out. */
  readonly bytes: Buffer;
  /** Where `date_created` belongs, within its quotes; 0 in format 1. */
  readonly dateAt: number;
  /** Where `retry_count` belongs, behind `dateAt`; 0 in format 1. */
  readonly countAt: number;
}

export interface Origin {
  /** One string a sender, shared by all of its entries; empty, and the number 0, after a replay. */
  readonly senderId: string;
  readonly number: number;
}

/**
 * Which slots serve a destination (D75): `healthy` are those that are untried or whose last request
 * succeeded. A closed destination is not claimed, and nothing is enqueued for it (D72).
 */
export type Tier = 'healthy' | 'failing' | 'closed';

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };
