/** A playbook that was triggered, as the `security_response` of channel B (D46). */
import type { LogActor, WebhookMessageV2 } from '../contract/index.ts';
import type { Service } from './security-event.ts';
import { cidrOf } from './told-address.ts';

export type SecurityResponse = Extract<
  WebhookMessageV2,
  { readonly message_type: 'security_response' }
>['message'];

export interface SecurityResponseSource {
  readonly service: Service;
  readonly playbook: { readonly name: string; readonly playbook_slug: string };
  /** Whom the response is about, where that is known. */
  readonly actor: LogActor | undefined;
}

export function securityResponse({
  service,
  playbook,
  actor,
}: SecurityResponseSource): SecurityResponse {
  const { identifiers } = actor ?? { identifiers: null };
  // A text or a list is what channel A refuses, and nobody's identifiers.
  const isKnown =
    typeof identifiers === 'object' && identifiers !== null && !Array.isArray(identifiers);
  return {
    application: { name: service.name, environment: service.env, id: service.svc_id },
    properties: {
      ips: actor === undefined ? [] : [{ ip_cidr: cidrOf(actor.ip) }],
      user_identifiers: isKnown ? [{ ...identifiers }] : [],
    },
    playbook: { name: playbook.name, id: playbook.playbook_slug },
  };
}
