/** The package's files on disk: manifest, sources, built files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ExportTarget {
  readonly types: string;
  readonly require: string;
  readonly default: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly homepage: string;
  readonly exports: Readonly<Record<string, string | ExportTarget>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the text of a file of the package. */
export const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

export const manifest = JSON.parse(textOf('package.json')) as Manifest;

/** The exports that are modules. `name` is what consumers import. */
export const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string'
    ? []
    : [{ subpath, name: subpath.replace('.', manifest.name), ...target }],
);

/** Entries that cannot be imported without a peer. The test of the recipes imports them with it. */
const PEER_ENTRIES: readonly string[] = ['./nest'];

export const importableEntries = entries.filter(({ subpath }) => !PEER_ENTRIES.includes(subpath));

/** Paths of all files below a folder of the package, with forward slashes, sorted. */
export const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, folder).length + 1))
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();

/** The text of every module below src/, by path. */
export const sources: ReadonlyMap<string, string> = new Map(
  filesBelow('src')
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path, textOf(join('src', path))]),
);
