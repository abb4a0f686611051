/** Describes settings without secrets. */
import type { StoredApplication, StoredDraft, StoredSettings } from '../stored-settings.ts';
import type { DescribedApplication, DescribedSettings } from './configuration.ts';

export function describeSettings(settings: StoredSettings, nowMs: number): DescribedSettings {
  const { applications, drafts = {}, format = 2 } = settings;
  const described = new Map<string, DescribedApplication>();
  for (const [id, draft] of Object.entries(drafts)) described.set(id, describeDraft(draft));
  for (const [id, application] of Object.entries(applications)) {
    described.set(id, describeSaved(application, { draft: described.get(id), nowMs }));
  }
  return { format, applications: Object.fromEntries(described) };
}

const describeDraft = ({ name, environment, url }: StoredDraft): DescribedApplication => ({
  name,
  environment,
  draftUrl: url,
  isSaved: false,
});

function describeSaved(
  { name, environment, url, secret, modules, playbooks }: StoredApplication,
  { draft, nowMs }: { readonly draft: DescribedApplication | undefined; readonly nowMs: number },
): DescribedApplication {
  const nextFrom = typeof secret === 'object' ? secret.nextFrom : undefined;
  const isPending = nextFrom !== undefined && Date.parse(nextFrom) > nowMs;
  return {
    ...(name !== undefined && { name }),
    ...(environment !== undefined && { environment }),
    ...(url !== undefined && { url }),
    ...(modules !== undefined && { modules: { ...modules } }),
    ...(playbooks !== undefined && { playbooks: { ...playbooks } }),
    ...(isPending && { nextSecretFrom: nextFrom }),
    ...(draft?.draftUrl !== undefined && { draftUrl: draft.draftUrl }),
    isSaved: true,
  };
}
