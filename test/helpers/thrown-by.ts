import { SecurityEventError } from '../../src/errors.ts';

/** Returns the `SecurityEventError` that `act` throws. */
export function thrownBy(act: () => unknown): SecurityEventError {
  try {
    act();
  } catch (error) {
    if (error instanceof SecurityEventError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
