/** Whether an application wants a message (D60). Pure. */
import { slugify } from '../contract/slug.ts';
import type { ApplicationSettings } from './schema.ts';

/** What a message was detected by, and for which playbook; not named counts as selected. */
export interface Routing {
  readonly module?: string | undefined;
  /** A name does as well: it is made a slug (D16). */
  readonly playbookSlug?: string | undefined;
}

/** Why a message is not sent; told to the caller and counted. */
export type RouteSkip =
  /** the application's `modules` do not have it set to true */
  | 'module-not-selected'
  /** nor its `playbooks` */
  | 'playbook-not-selected';

export type Route =
  | { readonly kind: 'send' }
  | { readonly kind: 'skip'; readonly reason: RouteSkip };

/** `application` is one that `createSettings` has read: its playbooks are there by slug. */
export function route(
  { modules, playbooks }: Pick<ApplicationSettings, 'modules' | 'playbooks'>,
  { module, playbookSlug }: Routing,
): Route {
  if (!isSelected(modules, module)) return { kind: 'skip', reason: 'module-not-selected' };
  const slug = playbookSlug === undefined ? undefined : slugify(playbookSlug);
  if (!isSelected(playbooks, slug)) return { kind: 'skip', reason: 'playbook-not-selected' };
  return SEND;
}

/** One for all: it is made for nearly every message. */
const SEND: Route = Object.freeze({ kind: 'send' });

type Selection = ApplicationSettings['modules'];

function isSelected(selection: Selection, name: string | undefined): boolean {
  if (selection === undefined || name === undefined) return true;
  // Of its own: no prototype selects a module.
  return Object.hasOwn(selection, name) && selection[name] === true;
}
