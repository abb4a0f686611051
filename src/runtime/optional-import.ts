import { SecurityEventError } from '../errors.ts';

/** Loads an optional package. Rejects with `ERR_PEER_MISSING`, which says how to install it. */
export async function optionalImport<T>(name: string, load: () => Promise<T>): Promise<T> {
  return await load().catch((cause: unknown) => {
    throw missingPackage(name, cause);
  });
}

export function missingPackage(name: string, cause: unknown): SecurityEventError {
  const detail = `${name} (\`npm install ${name}\`)`;
  return new SecurityEventError('ERR_PEER_MISSING', { detail, cause });
}
