/** Each step of the walk of an event in ARCHITECTURE.md names a function and its file. */
import { describe, expect, it } from 'vitest';
import { sources, textOf } from '../helpers/package-files.ts';

const page = textOf('ARCHITECTURE.md');
const rows = [...page.matchAll(/^\| [^|]+ \| `([\w.]+)` \| ([\w/-]+\.ts) \|$/gm)];
const steps = rows.map(([, name = '', file = '']) => ({ name, file }));

/** A step is a function, a class, or a method of a class or interface. */
function has(text: string, name: string): boolean {
  const [owner = '', method] = name.split('.');
  const kinds = method === undefined ? 'function|class|const' : 'class|interface';
  const isThere = new RegExp(`^export (?:async )?(?:${kinds}) ${owner}\\b`, 'm').test(text);
  if (method === undefined) return isThere;
  return isThere && new RegExp(`^ {2}(?:async )?${method}\\(`, 'm').test(text);
}

describe('the walk of an event', () => {
  it('has both halves', () => {
    expect(steps.length).toBeGreaterThan(15);
  });

  it.each(steps)('finds $name in src/$file', ({ name, file }) => {
    expect(has(sources.get(file) ?? '', name)).toBe(true);
  });
});
