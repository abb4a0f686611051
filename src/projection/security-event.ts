/** An attack or an exploit as the `security_event` of channel B (D46, D47). */
import type { LogActor, WebhookMessageV2 } from '../contract/index.ts';
import { resolvedIp } from './told-address.ts';
import type { EventWords } from './vocabulary-map.ts';

export type SecurityEvent = Extract<
  WebhookMessageV2,
  { readonly message_type: 'security_event' }
>['message'];

/** The service of a record: on channel B its id, name and environment are the application's (D46). */
export interface Service {
  readonly svc_id: string;
  readonly name: string;
  readonly env: string;
}

export interface SecurityEventSource {
  readonly service: Service;
  readonly words: EventWords;
  /** Of whoever did it, where that is known. */
  readonly ip: LogActor['ip'] | undefined;
  /** As channel B writes times (D23). */
  readonly occurredAt: string;
  readonly id: string;
  /** Absolute. */
  readonly url: string;
  /** D81; absent unless the caller gives it. */
  readonly riskCoefficient?: number | undefined;
}

export function securityEvent(source: SecurityEventSource): SecurityEvent {
  const { service, words, ip, occurredAt, id, url, riskCoefficient } = source;
  return {
    application_id: service.svc_id,
    application_name: service.name,
    environment: service.env,
    date_occurred: occurredAt,
    event_category: words.category,
    event_id: id,
    event_kind: words.kind,
    event_url: url,
    humanized_description: ip === undefined ? words.title : `${words.title} from ${ip.address}`,
    ips: ip === undefined ? [] : [resolvedIp(ip, occurredAt)],
    ...(riskCoefficient === undefined ? {} : { risk_coefficient: riskCoefficient }),
  };
}
