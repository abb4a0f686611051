/** Decides by module and playbook whether an application gets a message. */
import { slugify } from '../contract/slug.ts';
import type { ApplicationSettings } from './schema.ts';

/** The module and the playbook of a message. A message without a module or playbook is not filtered by it. */
export interface Routing {
  readonly module?: string | undefined;
  /** Its name or its slug. */
  readonly playbook?: string | undefined;
}

/** Why a message is not sent. */
export type RouteSkip =
  /** the module is not true in the application's `modules` */
  | 'module-not-selected'
  /** the playbook is not true in the application's `playbooks` */
  | 'playbook-not-selected';

export type Route =
  | { readonly kind: 'send' }
  | { readonly kind: 'skip'; readonly reason: RouteSkip };

/** The application must have been read by `createSettings`, so that its playbooks are slugs. */
export function route(
  { modules, playbooks }: Pick<ApplicationSettings, 'modules' | 'playbooks'>,
  { module, playbook }: Routing,
): Route {
  if (!isSelected(modules, module)) return { kind: 'skip', reason: 'module-not-selected' };
  const slug = playbook === undefined ? undefined : slugify(playbook);
  if (!isSelected(playbooks, slug)) return { kind: 'skip', reason: 'playbook-not-selected' };
  return SEND;
}

/** Shared, since nearly every message gets it. */
const SEND: Route = Object.freeze({ kind: 'send' });

type Selection = ApplicationSettings['modules'];

function isSelected(selection: Selection, name: string | undefined): boolean {
  if (selection === undefined || name === undefined) return true;
  // Own keys only: a polluted prototype must not select a module.
  return Object.hasOwn(selection, name) && selection[name] === true;
}
