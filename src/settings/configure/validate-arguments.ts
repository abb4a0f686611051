/** Validates the arguments of the configure flow. */
import { slugify } from '../../contract/slug.ts';
import { invalidOption } from '../../option-rules.ts';
import { playbookFault } from '../schema.ts';
import type { Selection } from './changes.ts';

/** Would be lost silently when settings are read. */
const UNUSABLE_KEY = '__proto__';

export function checkId(applicationId: unknown): string {
  if (typeof applicationId !== 'string' || applicationId === '') {
    throw invalidOption('expected applicationId to be a non-empty string', ['applicationId']);
  }
  if (applicationId !== UNUSABLE_KEY) return applicationId;
  throw invalidOption(`${UNUSABLE_KEY} cannot be an applicationId`, ['applicationId']);
}

/** Returns a copy. */
export function checkSelection(given: unknown, what: 'modules' | 'playbooks'): Selection {
  if (given === 'all') return given;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidOption(`expected ${what} to be 'all' or an object`, [what]);
  }
  const copy: Record<string, boolean> = Object.create(null) as Record<string, boolean>;
  const slugs = new Set<string>();
  for (const [name, isSelected] of Object.entries(given)) {
    if (name === UNUSABLE_KEY)
      throw invalidOption(`${name} cannot be one of ${what}`, [what, name]);
    if (typeof isSelected !== 'boolean') {
      throw invalidOption(`expected each of ${what} to be true or false`, [what, name]);
    }
    if (what === 'playbooks') {
      const slug = slugify(name);
      const fault = playbookFault(slug, slugs);
      if (fault !== undefined) throw invalidOption(fault, [what, name]);
      slugs.add(slug);
    }
    copy[name] = isSelected;
  }
  return copy;
}
