/** An incident as the message of its type on channel B: only what is new since the last (D48, D50). */
import type { LogActor } from '../contract/index.ts';
import type { Incident } from './pulse.ts';
import { relatedIp } from './told-address.ts';

/** An account that an account takeover has compromised (D29). */
export type CompromisedAccount = NonNullable<Incident['new_compromised_accounts']>[number];

export interface IncidentSource {
  readonly applicationId: string;
  readonly incidentId: string;
  readonly status: Incident['incident_status'];
  /** As channel B writes times (D23). */
  readonly startedAt: string;
  readonly updatedAt: string;
  /** Not told before for this incident; likewise the accounts. */
  readonly newIps: readonly LogActor['ip'][];
  readonly newAccounts: readonly CompromisedAccount[];
  /** Accounts are told of account takeovers alone. */
  readonly messageType: string;
}

export function incidentMessage(source: IncidentSource): Incident {
  const { newIps, newAccounts, updatedAt, messageType } = source;
  const tellsAccounts = messageType === 'account_takeover' && newAccounts.length > 0;
  return {
    incident_thread: source.incidentId,
    incident_status: source.status,
    date_started: source.startedAt,
    date_last_updated: updatedAt,
    application_id: source.applicationId,
    new_related_ips: newIps.map((ip) => relatedIp(ip, updatedAt)),
    ...(tellsAccounts ? { new_compromised_accounts: [...newAccounts] } : {}),
  };
}
