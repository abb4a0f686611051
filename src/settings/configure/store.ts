/** Where a configuration is kept: the port of `createConfiguration`. */

/**
 * Keeps one text. A database does it with one row and a version, or a lock: no change may be lost,
 * whichever process makes it.
 */
export interface SettingsStore {
  /** `undefined` where nothing was ever written. */
  read(): Promise<string | undefined>;
  /**
   * Puts what `change` makes of the text in its place, all or nothing, with no other change between.
   * `change` has no effects of its own: it may be called again, with another text, and where it throws
   * nothing is written and the promise rejects with what it threw. The same text, or `undefined`,
   * need not be written.
   */
  update(change: (text: string | undefined) => string | undefined): Promise<void>;
}
