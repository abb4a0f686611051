/** A function of node:crypto, replaced for all modules of this process while a function runs. */
import { createRequire, syncBuiltinESMExports } from 'node:module';

type Crypto = typeof import('node:crypto');

const crypto = createRequire(import.meta.url)('node:crypto') as Crypto;

/** Hands the original to whoever replaces it. `act` must not wait: others would see the replacement. */
export function withReplaced<K extends 'createHmac' | 'timingSafeEqual', T>(
  name: K,
  replace: (original: Crypto[K]) => Crypto[K],
  act: () => T,
): T {
  const original = crypto[name];
  crypto[name] = replace(original);
  syncBuiltinESMExports();
  try {
    return act();
  } finally {
    crypto[name] = original;
    syncBuiltinESMExports();
  }
}
