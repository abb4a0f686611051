/** The settings of the world, as a host's own function gives them. */
import type { OrganisedApplication } from '../../src/settings/schema.ts';
import type { SettingsFunction } from '../../src/settings/source.ts';
import type { SenderProcess } from './sender-process.ts';
import type { LiveSettings, World } from './world.ts';

/** How often a settings function that hangs looks whether it may go on, in ms. */
const HANG_STEP_MS = 4000;

export function settingsOf(world: World, process: SenderProcess): SettingsFunction {
  return async (applicationId) => {
    const settings = world.settingsOf(applicationId);
    if (world.slowSettingsMs > 0) await world.clock.sleep(world.slowSettingsMs);
    while (settings.fault === 'settings-hang' && process.isAlive) {
      await world.clock.sleep(HANG_STEP_MS);
    }
    if (!process.isAlive) return await new Promise<never>(() => {});
    if (settings.fault === 'settings-throw') throw new Error('simulated: no settings');
    return settings.fault === 'removed' ? undefined : answer(settings);
  };
}

function answer({ plan, url, secret, format, fault }: LiveSettings): OrganisedApplication {
  const { modules, playbooks, hasSecretFunction } = plan;
  const give = (): string => {
    if (fault === 'secret-throws') throw new Error('simulated: no secret');
    return secret;
  };
  return {
    name: 'shop',
    environment: 'production',
    url: fault === 'bad-url' ? 'ftp://app.example' : url,
    secret: hasSecretFunction || fault === 'secret-throws' ? give : secret,
    format,
    ...(modules === undefined ? {} : { modules }),
    ...(playbooks === undefined ? {} : { playbooks }),
  };
}
