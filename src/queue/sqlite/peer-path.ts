import { join } from 'node:path';
import process from 'node:process';

const PEER = '@photostructure/sqlite';

/**
 * Finds the optional peer from this module, from the program and from the current folder. Returns null
 * when it is not installed. A bundle has no `import.meta.url` of ours, or its own.
 */
export function peerPath(): string | null {
  const places = [import.meta.url as string | undefined, process.argv[1], join(process.cwd(), '_')];
  // Not imported: webpack replaces calls of an imported `createRequire`, and they would find nothing.
  const { createRequire: requireFrom } = process.getBuiltinModule('node:module');
  for (const place of places) {
    if (place === undefined) continue;
    try {
      return requireFrom(place).resolve(PEER);
    } catch {
      // Not from there.
    }
  }
  return null;
}
