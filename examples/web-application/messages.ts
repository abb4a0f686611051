/** Events in the words of channel B. The envelope around a message is added when it is sent. */
import { randomUUID } from 'node:crypto';
import { slugify } from 'security-event-delivery';
import type { WebhookMessageToSend } from 'security-event-delivery/contract';
import type { Incident } from './incidents.ts';
import type { IpFacts } from './request-context.ts';

export interface Service {
  readonly svc_id: string;
  readonly name: string;
  readonly env: string;
}

/** An attack or an exploit. */
export interface Detection {
  readonly ip: IpFacts;
  readonly kind: string;
  readonly detectedAt: string;
}

export function securityEvent(
  service: Service,
  { ip, kind, detectedAt }: Detection,
): WebhookMessageToSend {
  const id = randomUUID();
  return {
    message_type: 'security_event',
    message: {
      application_id: service.svc_id,
      application_name: service.name,
      environment: service.env,
      date_occurred: detectedAt,
      event_category: 'injection',
      event_id: id,
      event_kind: kind,
      event_url: `urn:uuid:${id}`,
      humanized_description: `${kind} from ${ip.address}`,
      ips: [{ address: ip.address, date_resolved: detectedAt, geo: {}, is_tor: ip.metadata.tor }],
    },
  };
}

export function sqlInjectionIncident(
  service: Service,
  ip: IpFacts,
  incident: Incident,
): WebhookMessageToSend {
  const { version, multicast, global, unspecified, reserved, loopback } = ip.metadata;
  return {
    message_type: 'injection_sql',
    message: {
      incident_thread: incident.id,
      incident_status: incident.attackCount === 1 ? 'created' : 'updated',
      date_started: incident.startedAt,
      date_last_updated: incident.updatedAt,
      application_id: service.svc_id,
      new_related_ips: [
        {
          address: ip.address,
          date_resolved: incident.updatedAt,
          geo: {},
          is_tor: ip.metadata.tor,
          vpn: ip.metadata.vpn,
          proxy: ip.metadata.proxy,
          datacenter: ip.metadata.datacenter !== null,
          metadata: {
            version,
            multicast,
            private: ip.metadata.private,
            global,
            unspecified,
            reserved,
            loopback,
          },
          tags: [],
        },
      ],
    },
  };
}

/** A playbook that was triggered by what `ip` did. */
export const securityResponse = (
  service: Service,
  ip: IpFacts,
  playbookName: string,
): WebhookMessageToSend => ({
  message_type: 'security_response',
  message: {
    application: { name: service.name, environment: service.env, id: service.svc_id },
    properties: { ips: [{ ip_cidr: `${ip.address}/32` }], user_identifiers: [] },
    playbook: { name: playbookName, id: slugify(playbookName) },
  },
});
