/** Reads the user of a request for a record's `actor.identifiers`. */
import type { LogActor } from '../../contract/index.ts';
import { tryCall } from '../../runtime/host-calls.ts';

/** The user: see the contract's `actor.identifiers`. `null`: unknown. */
export type Identifiers = LogActor['identifiers'];

type Identifier = NonNullable<Identifiers>[string];

/** Returns a value that the contract allows; `undefined` for all others. */
export function identifierOf(value: unknown): Identifier | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return typeof value === 'boolean' || typeof value === 'string' ? value : undefined;
}

/**
 * Leaves out values that the contract does not allow, such as objects: they would make each event of the request
 * invalid, and a detection would be lost. `isComplete` is false then, and for an object without identifiers.
 */
export function readIdentifiers(given: unknown): {
  readonly identifiers: Identifiers;
  readonly isComplete: boolean;
} {
  if (given === null || given === undefined) return { identifiers: null, isComplete: true };
  const isObject = typeof given === 'object' && !Array.isArray(given);
  // Getters of the host may throw.
  const entries = (isObject && tryCall(() => Object.entries(given))) || [];
  const known = entries.flatMap(([name, value]): [string, Identifier][] => {
    const identifier = identifierOf(value);
    return identifier === undefined ? [] : [[name, identifier]];
  });
  const defined = entries.filter(([, value]) => value !== undefined);
  return {
    identifiers: known.length === 0 ? null : Object.freeze(Object.fromEntries(known)),
    isComplete: isObject && known.length > 0 && known.length === defined.length,
  };
}
