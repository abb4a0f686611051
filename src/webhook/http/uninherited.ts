/**
 * A copy of options that inherits nothing. Node and undici read many names that we do not give: what
 * an attack put on Object.prototype must not become a CA that is trusted, a name that certificates
 * are checked for, a query added to the URL, or a Unix socket in the place of the checked address.
 */
export function uninherited<T extends object>(options: T): T {
  return Object.assign(Object.create(null) as T, options);
}
