/** What the steps of configuring are given, checked. */
import { slugify } from '../../contract/slug.ts';
import { invalidOption } from '../../option-rules.ts';
import type { Selection } from './changes.ts';

/** No key of settings: it would be lost without a word when they are read. */
const UNUSABLE_KEY = '__proto__';

export function checkId(applicationId: unknown): string {
  if (typeof applicationId !== 'string' || applicationId === '') {
    throw invalidOption('expected applicationId to be a non-empty string', ['applicationId']);
  }
  if (applicationId !== UNUSABLE_KEY) return applicationId;
  throw invalidOption(`${UNUSABLE_KEY} cannot be an applicationId`, ['applicationId']);
}

/** A copy. */
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
    if (what === 'playbooks') checkPlaybook(name, slugs);
    copy[name] = isSelected;
  }
  return copy;
}

/** Two names of one slug may say the opposite: in a file, too, that is a fault. */
function checkPlaybook(name: string, slugs: Set<string>): void {
  const slug = slugify(name);
  const fault =
    (slug === '' && 'expected the name of a playbook to have a letter or a digit') ||
    (slugs.has(slug) && 'expected each playbook once, found another name of the same slug');
  if (fault !== false) throw invalidOption(fault, ['playbooks', name]);
  slugs.add(slug);
}
