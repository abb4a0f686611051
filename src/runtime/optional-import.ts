import { SecurityEventError } from '../errors.ts';

/** Loads an optional package. Rejects with `ERR_PEER_MISSING`, which says how to install it. */
export async function optionalImport<T>(name: string, load: () => Promise<T>): Promise<T> {
  return await load().catch((cause: unknown) => {
    const detail = `${name} (\`npm install ${name}\`)`;
    throw new SecurityEventError('ERR_PEER_MISSING', { detail, cause });
  });
}
