/** `security-event-delivery/settings`: sources of settings, and the configure flow for webhooks. */
export type {
  ChosenWebhook,
  Configuration,
  ConfigurationOptions,
  DescribedApplication,
  DescribedSettings,
  DestinationWarning,
  Rotated,
  RotationOptions,
  SecretChoice,
  Selection,
  SettingsStore,
  TestedWebhook,
  TestOptions,
  WebhookChoice,
} from './configure/configuration.ts';
export { createConfiguration } from './configure/create-configuration.ts';
export { type ScheduledSecret, scheduledSecret } from './settings/scheduled-secret.ts';
export {
  type CachedSettings,
  type SettingsCacheOptions,
  settingsCache,
} from './settings/settings-cache.ts';
export type { SettingsEvents } from './settings/settings-events.ts';
export {
  type SettingsFile,
  type SettingsFileOptions,
  settingsFile,
} from './settings/settings-file.ts';
