/** Valid records of channel A, one for each event. */
import { EVENT_VERSION, type LogRecord } from '../contract/index.ts';
import { type Overrides, override } from './override.ts';

/** The names of the seven events, and of exploits with their protection as suffix. */
export type SampleEventName = LogRecord['event_name'];

/** The record of an event, or of several events if `N` is a union. */
export type RecordOf<N extends SampleEventName> = N extends unknown
  ? MemberWith<LogRecord, N>
  : never;

type MemberWith<T, N> = T extends { readonly event_name: infer E }
  ? N extends E
    ? T
    : never
  : never;

const EXPLOIT = 'svc.ev0.threat.vulnerability_exploit';

/** The smallest payload of each event. */
const PAYLOADS: {
  readonly [N in Exclude<SampleEventName, `${typeof EXPLOIT}.${string}`>]: RecordOf<N>['payload'];
} = {
  'svc.ev0.threat.attack': { ruleset: 'sql_injection' },
  [EXPLOIT]: { protection: 'lfi' },
  'svc.ev0.incident': {
    event_type: 'create',
    incident_id: 'incident-1',
    incident_type: 'massive_sec_scan',
    name: 'Security scan',
    severity: 'major',
  },
  'svc.ev0.playbook_trigger': { name: 'Block IPs', playbook_slug: 'block_ips' },
  'svc.ev0.user_event.login': { success: true },
  'svc.ev0.user_event.signup': { success: true },
  'svc.ev0.custom_event': { event_name: 'checkout', options: { amount: 12.5 } },
};

const SHARED = {
  context: { service: { env: 'production', name: 'shop', svc_id: 'shop-1' } },
  detected_at: '2026-11-21T10:00:00.000+00:00',
};

/**
 * Returns a valid record: a new object with always the same, smallest content of its event (default
 * `svc.ev0.threat.attack`), and the given changes. Changes are not validated, so that it can be made invalid.
 */
export function sampleRecord<N extends SampleEventName = 'svc.ev0.threat.attack'>(
  eventName?: N,
  overrides?: Overrides<RecordOf<N>>,
): RecordOf<N> {
  const event_name: SampleEventName = eventName ?? 'svc.ev0.threat.attack';
  const record = {
    ...SHARED,
    event_name,
    event_version: EVENT_VERSION,
    payload: payloadOf(event_name),
  };
  return override(record, overrides ?? {}) as unknown as RecordOf<N>;
}

function payloadOf(name: SampleEventName): object {
  if (name.startsWith(`${EXPLOIT}.`)) return { protection: name.slice(EXPLOIT.length + 1) };
  return PAYLOADS[name as keyof typeof PAYLOADS];
}
