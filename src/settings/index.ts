/** `security-event-delivery/settings`: sources of settings, and the configure flow for webhooks. */
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
  SettingsStore,
  TestedWebhook,
  WebhookChoice,
} from './configure/configuration.ts';
export { createConfiguration } from './configure/create-configuration.ts';
export type { TestOptions } from './configure/test-destination.ts';
export type { DestinationWarning } from './configure/warnings.ts';
export { type ScheduledSecret, scheduledSecret } from './scheduled-secret.ts';
export { type CachedSettings, type SettingsCacheOptions, settingsCache } from './settings-cache.ts';
export type { SettingsEvents } from './settings-events.ts';
export { type SettingsFile, type SettingsFileOptions, settingsFile } from './settings-file.ts';
