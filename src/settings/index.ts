/**
 * `security-event-delivery/settings`: where settings come from while they are used, and how a webhook is
 * configured. Everything public of this entry, name by name.
 */
export type { Selection } from './configure/changes.ts';
export type {
  ChosenWebhook,
  Configuration,
  ConfigurationOptions,
  DescribedApplication,
  DescribedSettings,
  Rotated,
  RotationOptions,
  SecretChoice,
  TestedWebhook,
  WebhookChoice,
} from './configure/configuration.ts';
export { createConfiguration } from './configure/create-configuration.ts';
export type { SettingsStore } from './configure/store.ts';
export type { TestOptions } from './configure/test-destination.ts';
export type { DestinationWarning } from './configure/warnings.ts';
export { type ScheduledSecret, scheduledSecret } from './scheduled-secret.ts';
export { type CachedSettings, type SettingsCacheOptions, settingsCache } from './settings-cache.ts';
export type { SettingsEvents } from './settings-events.ts';
export { type SettingsFile, type SettingsFileOptions, settingsFile } from './settings-file.ts';
