import { SecurityEventError } from '../errors.ts';

/** Loads an optional package, such as `pg@8`. Rejects with `ERR_PEER_MISSING`, which says how to install it. */
export async function optionalImport<T>(wanted: string, load: () => Promise<T>): Promise<T> {
  return await load().catch((cause: unknown) => {
    throw missingPackage(wanted, cause);
  });
}

/**
 * Rejects again. After an `import()` of an optional package, because esbuild bundles a program without
 * the package only if `.catch` directly follows.
 */
export const rethrow = (error: unknown): never => {
  throw error;
};

export function missingPackage(wanted: string, cause: unknown): SecurityEventError {
  const detail = `${wanted.replace(/@\d+$/, '')} (\`npm install ${wanted}\`)`;
  return new SecurityEventError('ERR_PEER_MISSING', { detail, cause });
}
