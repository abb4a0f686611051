/**
 * A file of the package. The one place that goes by where it is itself: when modules are joined
 * (scripts/join-modules.mjs) it is in another file, as many folders below the package.
 */
export const packageFile = (path: string): URL => new URL(`../../${path}`, import.meta.url);
