/** The settings of the world, as a host's own function gives them. */
import type { OrganisedApplication } from '../../src/settings/schema.ts';
import type { SettingsFunction } from '../../src/settings/source.ts';
import type { SenderProcess } from './sender-process.ts';
import type { LiveSettings, World } from './world.ts';

export function mend(settings: LiveSettings): void {
  settings.fault = undefined;
  for (const goOn of settings.hanging.splice(0)) goOn();
}

const hang = ({ hanging }: LiveSettings): Promise<void> =>
  new Promise((goOn) => {
    hanging.push(goOn);
  });

export function settingsOf(world: World, process: SenderProcess): SettingsFunction {
  return async (applicationId) => {
    const settings = world.settingsOf(applicationId);
    if (world.slowSettingsMs > 0) await world.clock.sleep(world.slowSettingsMs);
    // Again where it hangs anew at the moment at which it is mended.
    while (settings.fault === 'settings-hang') await hang(settings);
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
