import { fileURLToPath } from 'node:url';
import { StoredConfiguration } from '../../src/configure/create-configuration.ts';
import { readAtOnce } from '../../src/settings/organisation.ts';
import { route } from '../../src/settings/routing.ts';
import { createSettings } from '../../src/settings/source.ts';
import {
  applicationsToDeliver,
  readStored,
  schemasToDeliver,
} from '../../src/settings/stored-settings.ts';
import * as entry from '../../src/settings.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { throughout, unchangedByPollution, withJson, withZod } from './law.ts';

const { createConfiguration, scheduledSecret, settingsCache, settingsFile } = entry;

/** Without anything that an application need not have. */
const BARE = { name: 'shop', environment: 'test', modules: { waf: true } };
const SETTINGS = { applications: { shop: BARE } };
const TEXT = JSON.stringify(SETTINGS);
const FAULTY = { applications: { shop: { name: 7 } } } as never;
const PARTS = ['name', 'environment', 'url', 'secret', 'playbooks', 'tls', 'format'];

/** As delivery reads it, by name. */
const read = (application: object | undefined) => {
  if (application === undefined) return undefined;
  const modules = Reflect.get(application, 'modules') as object;
  return [...PARTS.map((name) => Reflect.get(application, name)), Reflect.get(modules, 'evil')];
};

const held = createSettings(SETTINGS);
const asking = createSettings(() => BARE);
const cached = settingsCache(() => Promise.resolve(BARE));
const schemas = schemasToDeliver('stored');

const STEPS = {
  setWebhook: (one: StoredConfiguration) => one.setWebhook('shop', 'https://receiver.example/'),
  secretOf: (one: StoredConfiguration) => one.secretOf('shop'),
  save: (one: StoredConfiguration) => one.save('shop'),
  selectModules: (one: StoredConfiguration) => one.selectModules('shop', { waf: true }),
  selectPlaybooks: (one: StoredConfiguration) => one.selectPlaybooks('shop', { Notify: true }),
  rotateSecret: (one: StoredConfiguration) => one.rotateSecret('shop'),
  describe: (one: StoredConfiguration) => one.describe(),
  remove: (one: StoredConfiguration) => one.remove('shop'),
};

/** Returns the result of each step, and the stored text after it. */
async function configured(steps = Object.keys(STEPS) as (keyof typeof STEPS)[]) {
  let text: string | undefined;
  const store = {
    read: () => Promise.resolve(text),
    update: (change: (before: string | undefined) => string | undefined) => {
      text = change(text);
      return Promise.resolve();
    },
  };
  const configuration = new StoredConfiguration(
    store,
    {},
    { clock: createFakeClock(), newSecret: () => 'a secret of more than 16 bytes' },
  );
  const answers: unknown[] = [];
  for (const step of steps) answers.push(await STEPS[step](configuration), text);
  return answers;
}

const schedule = { current: 'a', next: 'b', nextFrom: '2026-11-23T10:00:00Z' };
const here = fileURLToPath(import.meta.url);

unchangedByPollution(entry, {
  createConfiguration: [
    throughout('without a store', () => createConfiguration({})),
    withJson(withZod(throughout('used for one step', () => configured(['setWebhook'])))),
    withJson(withZod(throughout('used for all steps', () => configured()))),
  ],
  scheduledSecret: [withZod(throughout('', () => scheduledSecret(schedule, { now: () => 0 })()))],
  settingsCache: [
    throughout('with an unknown option', () => settingsCache(() => BARE, { evil: 1 } as never)),
    withZod(
      throughout('and where settings are looked up', async () => [
        read(await held.find('shop')),
        await held.find('evil'),
        read(await asking.find('shop')),
        read(await cached('shop')),
        route(BARE, { module: 'evil', playbook: undefined }),
        route({ playbooks: {} }, { module: undefined, playbook: 'evil' }),
      ]),
    ),
    withZod(throughout('and settings as an object', () => typeof createSettings(SETTINGS))),
    withZod(throughout('and invalid settings', () => createSettings(FAULTY))),
  ],
  settingsFile: [
    throughout('with an unknown option', () => settingsFile(here, { evil: 1 } as never)),
    withJson(
      withZod(
        throughout('', () => {
          const stored = readAtOnce(readStored(TEXT, schemas));
          const applications = readAtOnce(applicationsToDeliver(stored, () => undefined));
          return [...applications].map(([id, application]) => [id, read(application)]);
        }),
      ),
    ),
  ],
});
