/** Equal to `version` in package.json; a test compares them. */
export const PACKAGE_VERSION = '0.1.0';

/** The header User-Agent where none is given (D35). */
export const DEFAULT_USER_AGENT = `security-event-delivery/${PACKAGE_VERSION}`;
