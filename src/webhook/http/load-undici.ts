/**
 * Loads undici without its entry, when something is first sent.
 *
 * undici's entry runs lib/global.js, which sets a global dispatcher on globalThis if there is none,
 * and for good: the property is not configurable. The host's built-in `fetch` would then use our copy.
 *
 * Hiding that with a placeholder property while the entry loads is worse: the host may share our copy
 * of undici, whose entry runs once per process. The host's later `import 'undici'` would find no
 * global dispatcher, and its `request` and `fetch` would throw (measured with 7.30.2). So the two
 * files that an attempt needs are imported directly. They are in the same place in 7.0.0, 7.8.0,
 * 7.16.0, 7.22.0 and 7.30.2, do not reach lib/global.js, and load a quarter of the modules. A later
 * version that moves them fails the tests. `import()` rather than `require`, so that bundlers see them.
 */
import type { buildConnector, Client } from 'undici';
import { tryCall } from '../../runtime/host-calls.ts';

export interface Undici {
  readonly Client: typeof Client;
  readonly buildConnector: typeof buildConnector;
}

/** Rejects if undici 7 cannot be loaded, for example from a bundle. */
export async function loadUndici(): Promise<Undici> {
  try {
    const [client, connect] = await Promise.all([
      import('undici/lib/dispatcher/client.js'),
      import('undici/lib/core/connect.js'),
    ]);
    return { Client: client.default, buildConnector: connect.default };
  } catch (error) {
    // Node never imports a file again that it could not open (`EMFILE`), but it does require it again.
    const required = tryCall(requireUndici);
    if (required === undefined) throw error;
    return required;
  }
}

function requireUndici(): Undici {
  const { createRequire: requireFrom } = process.getBuiltinModule('node:module');
  const require = requireFrom(import.meta.url);
  return {
    Client: require('undici/lib/dispatcher/client.js') as Undici['Client'],
    buildConnector: require('undici/lib/core/connect.js') as Undici['buildConnector'],
  };
}
