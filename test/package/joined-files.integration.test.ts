/** Bundling modules into few files must not make an entry load modules that it does not use. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../helpers/package-files.ts';

interface Loaded {
  readonly files: Set<string>;
  readonly others: Set<string>;
}

/** Static imports alone: the rest waits until it is used. */
function loadedBy(entry: string, loaded: Loaded = { files: new Set(), others: new Set() }): Loaded {
  const path = join(root, 'dist', entry);
  if (loaded.files.has(path)) return loaded;
  loaded.files.add(path);
  for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(/^.* from "([^"]+)";$/gm)) {
    if (name.startsWith('.')) loadedBy(join(dirname(entry), name), loaded);
    else loaded.others.add(name);
  }
  return loaded;
}

const othersOf = (entry: string): string[] => [...loadedBy(entry).others].toSorted();

describe('an entry of the package', () => {
  it('loads few files', () => {
    expect(loadedBy('contract/index.js').files.size).toBeLessThanOrEqual(3);
    expect(loadedBy('index.js').files.size).toBeLessThanOrEqual(13);
  });

  it('needs only zod for the contract, and no platform', () => {
    expect(othersOf('contract/index.js')).toEqual(['zod']);
  });

  it.each(['memory', 'postgres', 'sqlite'])(
    'needs no dependency that every application has for queue/%s',
    (queue) => {
      const others = othersOf(`queue/${queue}.js`);
      expect(others.filter((name) => !name.startsWith('node:'))).toEqual([]);
    },
  );

  it('needs no node:crypto for what reads requests, and no sender', () => {
    expect(othersOf('capture/adapters/express.js')).not.toContain('node:crypto');
    expect(othersOf('receiver/index.js')).not.toContain('node:tls');
  });
});
