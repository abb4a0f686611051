/** `createConfiguration`: the configure flow with a file, or the caller's own store. */
import { ANYTHING, check, invalidOption, object, type Rules, usable } from '../../option-rules.ts';
import { systemClock } from '../../runtime/clock.ts';
import { generateSecret } from '../../webhook/signature.ts';
import type { Configuration, ConfigurationOptions } from './configuration.ts';
import { fileStore } from './file-store.ts';
import { StoredConfiguration } from './stored-configuration.ts';
import { checkTestOptions } from './test-destination.ts';

const NON_EMPTY = usable(
  'a non-empty string',
  (value) => typeof value === 'string' && value !== '',
);

const OPTION_RULES: Rules<keyof ConfigurationOptions> = {
  file: NON_EMPTY,
  store: object(
    'an object with read and update',
    (store) =>
      'read' in store &&
      typeof store.read === 'function' &&
      'update' in store &&
      typeof store.update === 'function',
  ),
  // Validated by `checkTestOptions`.
  deadlineMs: ANYTHING,
  dispatcher: ANYTHING,
  headers: ANYTHING,
  network: ANYTHING,
  userAgent: ANYTHING,
  v1Aliases: ANYTHING,
};

/**
 * Creates a configuration of webhooks: set the URL, test it, save it, select what is sent. It keeps nothing
 * between calls, so several may be used at the same time, also in several processes.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function createConfiguration(options: ConfigurationOptions): Configuration {
  const given = check<ConfigurationOptions>(options, OPTION_RULES);
  const { file, store, ...testOptions } = given;
  if ((file === undefined) === (store === undefined)) {
    throw invalidOption('expected either file or store', ['file']);
  }
  checkTestOptions(testOptions);
  return new StoredConfiguration({
    store: store ?? fileStore(file as string),
    testOptions,
    clock: systemClock,
    newSecret: generateSecret,
  });
}
