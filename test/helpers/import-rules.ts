/** Judges sources against an import table; the sources are given, so that the judge can be tested. */
import { posix } from 'node:path';
import type { ImportRow } from '../package/import-table.ts';
import { type ImportOf, importsOf } from './source-imports.ts';

/** Paths below src/ with the text of each file. */
export type Sources = ReadonlyMap<string, string>;

const matches = (path: string, pattern: string): boolean =>
  pattern.endsWith('/') ? path.startsWith(pattern) : path === pattern;

const anyMatch = (path: string, patterns: readonly string[] | undefined): boolean =>
  patterns?.some((pattern) => matches(path, pattern)) ?? false;

/** `undici/types/agent` belongs to `undici`; each builtin, `node:fs/promises` too, is its own. */
const packageOf = (specifier: string): string => {
  if (specifier.startsWith('node:')) return specifier;
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
};

const isOurs = (specifier: string): boolean => specifier.startsWith('.');

const targetOf = (path: string, specifier: string): string =>
  posix.join(posix.dirname(path), specifier);

function faultOf(
  path: string,
  row: ImportRow,
  found: ImportOf,
  sources: Sources,
): string | undefined {
  const { specifier, typeOnly } = found;
  if (specifier === undefined) return 'imports a computed name';
  if (!isOurs(specifier)) {
    const isAllowed =
      anyMatch(packageOf(specifier), row.external) ||
      (typeOnly && anyMatch(packageOf(specifier), row.externalAsTypes));
    return isAllowed ? undefined : `may not import ${specifier}`;
  }
  const target = targetOf(path, specifier);
  if (!sources.has(target)) return `imports ${specifier}, which does not exist`;
  // Only who is named to be a customer of the package, as the command line is.
  if (target === 'index.ts' && !row.ours.includes(target)) return 'imports the root index.ts';
  const ownFolder = row.files.filter((file) => file.endsWith('/'));
  const isAllowed =
    anyMatch(target, row.ours) ||
    anyMatch(target, ownFolder) ||
    (typeOnly && anyMatch(target, row.oursAsTypes));
  return isAllowed ? undefined : `may not import ${target}${typeOnly ? ' (type)' : ''}`;
}

/** One line for each import that the table does not allow, and for each file without a row. */
export function importFaults(sources: Sources, table: readonly ImportRow[]): string[] {
  return [...sources].flatMap(([path, source]) => {
    const row = table.find(({ files }) => anyMatch(path, files));
    if (row === undefined) return [`${path}: no row of the import table covers it`];
    return importsOf(source).flatMap((found) => {
      const fault = faultOf(path, row, found, sources);
      return fault === undefined ? [] : [`${path}:${found.line}: ${fault}`];
    });
  });
}

/** Each cycle once, as `a.ts -> b.ts -> a.ts`; imports of types count. */
export function importCycles(sources: Sources): string[] {
  const cycles = new Set<string>();
  const done = new Set<string>();
  const trail: string[] = [];

  const visit = (path: string): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt !== -1) cycles.add([...trail.slice(seenAt), path].join(' -> '));
    if (seenAt !== -1 || done.has(path)) return;
    trail.push(path);
    for (const { specifier } of importsOf(sources.get(path) ?? '')) {
      if (specifier !== undefined && isOurs(specifier)) visit(targetOf(path, specifier));
    }
    trail.pop();
    done.add(path);
  };

  for (const path of sources.keys()) visit(path);
  return [...cycles];
}

/** index.ts files that are not a published entry. */
export const innerBarrels = (sources: Sources, entries: readonly string[]): string[] =>
  [...sources.keys()].filter(
    (path) => posix.basename(path) === 'index.ts' && !entries.includes(path),
  );
