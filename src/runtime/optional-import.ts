import { SecurityEventError } from '../errors.ts';

/**
 * Loads a package that is needed only by who uses it.
 *
 * @throws SecurityEventError (rejects) `ERR_PEER_MISSING`, which tells how to install it.
 */
export async function optionalImport<T>(name: string, load: () => Promise<T>): Promise<T> {
  return await load().catch((cause: unknown) => {
    const detail = `${name} (\`npm install ${name}\`)`;
    throw new SecurityEventError('ERR_PEER_MISSING', { detail, cause });
  });
}
