/**
 * undici without its entry, and only when something is first sent.
 *
 * undici's entry runs lib/global.js, which puts an Agent of its own on globalThis under
 * `Symbol.for('undici.globalDispatcher.1')` where none is set yet, for good (the property is not
 * configurable). From then on the host's built-in `fetch` would be served by our copy (D80).
 *
 * Hiding that by a placeholder property while the entry loads is worse than what it mends: the host
 * may share our copy of undici (npm installs one where the ranges agree), and the entry runs only
 * once a process. The host's own later `import 'undici'` would then find no global dispatcher, and
 * its `request` and `fetch` would throw (measured with 7.30.2). So the entry is left to the host, and
 * the two files that an attempt needs are taken directly. They were found in the same places in
 * 7.0.0, 7.8.0, 7.16.0, 7.22.0 and 7.30.2, none of them reaches lib/global.js, and they load a quarter
 * of the modules. A later 7 that moved them would fail every attempt with ERR_MODULE_NOT_FOUND, which
 * the tests would show. `import()` rather than `require`, so that bundlers see them.
 *
 * Node's module cache makes the second call cheap; nothing is kept here.
 */

import type { buildConnector, Client } from 'undici';
import { optionalImport } from '../../runtime/optional-import.ts';

export interface Undici {
  readonly Client: typeof Client;
  readonly buildConnector: typeof buildConnector;
}

/** @throws SecurityEventError (rejects) `ERR_PEER_MISSING` if undici 7 cannot be loaded: a bundler may have lost it. */
export async function loadUndici(): Promise<Undici> {
  const [client, connect] = await optionalImport('undici', () =>
    Promise.all([import('undici/lib/dispatcher/client.js'), import('undici/lib/core/connect.js')]),
  );
  return {
    Client: client.default,
    buildConnector: connect.default,
  };
}
