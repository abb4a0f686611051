/** Two detectors, naive on purpose: enough to have something to tell. */
import { resolve, sep } from 'node:path';

const SQL_INJECTION = /'\s*(?:or|and)\s+[\w'"]+\s*=|;\s*drop\s+table|\bunion\s+select\b/i;

/** Watches what comes in: does a parameter of the query look like an SQL injection? */
export const isSqlInjection = (query: URLSearchParams): boolean =>
  [...query.values()].some((value) => SQL_INJECTION.test(value));

/** Watches what is done: would opening `name` leave the folder that the application serves? */
export const leavesFolder = (folder: string, name: string): boolean =>
  !resolve(folder, name).startsWith(resolve(folder) + sep);
