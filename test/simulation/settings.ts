/** The settings function of a simulated host. */
import type { OrganisedApplication } from '../../src/settings/schema.ts';
import type { SettingsFunction } from '../../src/settings/source.ts';
import type { SenderProcess } from './sender-process.ts';
import type { LiveSettings, World } from './world.ts';

export function clearFault(settings: LiveSettings): void {
  settings.fault = undefined;
  for (const resume of settings.hanging.splice(0)) resume();
}

const hang = ({ hanging }: LiveSettings): Promise<void> =>
  new Promise((resume) => {
    hanging.push(resume);
  });

export function settingsOf(world: World, process: SenderProcess): SettingsFunction {
  return async (applicationId) => {
    const settings = world.settingsOf(applicationId);
    const askedAt = world.now;
    if (world.slowSettingsMs > 0) await world.clock.sleep(world.slowSettingsMs);
    // A loop, because the fault may start again at the moment it is cleared.
    while (settings.fault === 'settings-hang') await hang(settings);
    if (world.now > askedAt) world.slowSettingsUntil = world.now;
    if (!process.isAlive) return await new Promise<never>(() => {});
    if (settings.fault === 'settings-throw') throw new Error('simulated: no settings');
    return settings.fault === 'removed' ? undefined : answer(settings);
  };
}

function answer({ plan, url, secret, format, fault }: LiveSettings): OrganisedApplication {
  const secretFunction = (): string => {
    if (fault === 'secret-throws') throw new Error('simulated: no secret');
    return secret;
  };
  return {
    name: 'shop',
    environment: 'production',
    url: fault === 'bad-url' ? 'ftp://app.example' : url,
    secret: plan.hasSecretFunction || fault === 'secret-throws' ? secretFunction : secret,
    format,
    ...plan.settings,
  };
}
