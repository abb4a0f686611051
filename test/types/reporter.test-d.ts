/** Types of `createReporter`. */
import { captureRequests } from '../../src/capture/adapters/express.ts';
import { reportLogins } from '../../src/capture/adapters/passport.ts';
import {
  createLogWriter,
  createMemoryIncidents,
  createReporter,
  createWebhookSender,
  type EventReporter,
  type EventSkipReason,
  type IncidentStore,
  type Receipt,
  type Reporter,
  type ReporterOptions,
  type SecurityEventErrorCode,
  type Settlement,
} from '../../src/index.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

const service = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const destination = { url: 'https://receiver.example', secret: 'key' };

declare const reporter: Reporter;
declare const passport: { authenticate(...given: never): unknown };

same<Equal<IsAny<Parameters<Reporter['attack']>[0]>, false>>();
same<Equal<IsAny<NonNullable<Receipt['record']>['payload']>, false>>();
same<Equal<Receipt['settled'], Promise<Settlement>>>();

same<Equal<IsAny<Settlement['reason']>, false>>();
same<Equal<Extract<Settlement, { outcome: 'skipped' }>['reason'], EventSkipReason>>();
same<Equal<Extract<Settlement, { outcome: 'rejected' }>['reason'], SecurityEventErrorCode>>();
same<Equal<ReturnType<Reporter['with']>, EventReporter>>();

// The known words stay in the type, so editors complete them; other words are accepted too.
type Ruleset = Parameters<Reporter['attack']>[0]['ruleset'];
same<Equal<Extract<Ruleset, 'sql_injection' | 'xss'>, 'sql_injection' | 'xss'>>();
same<string extends Ruleset ? true : false>();
type IncidentType = Parameters<Reporter['incident']>[0]['incident_type'];
same<Equal<Extract<IncidentType, 'targeted_attack'>, 'targeted_attack'>>();

export async function cannotCloseADerivedReporter(): Promise<unknown[]> {
  const waf = reporter.with({ module: 'waf' });
  return [
    waf.attack({ ruleset: 'xss' }),
    (await waf.with({ module: 'rasp' }).stats()).reportedByName['svc.ev0.threat.attack'],
    // @ts-expect-error the parent ends it
    waf.close(),
    // @ts-expect-error a default that does not exist
    reporter.with({ actor: {} }),
    // @ts-expect-error an event that does not exist
    (await reporter.stats()).reportedByName['svc.ev0.threats.attack'],
  ];
}

export function takesAStoreOfIncidents(): Reporter[] {
  const own: IncidentStore = createMemoryIncidents({ maxIncidents: 1000, retentionMs: 60_000 });
  return [
    createReporter({ service, incidents: own, suffix: true }),
    // @ts-expect-error a store that takes nothing back
    createReporter({ service, incidents: { record: (report) => own.record(report) } }),
  ];
}

export function takesOptionsInEveryForm(): Reporter[] {
  const options: ReporterOptions = { service };
  return [
    createReporter(options),
    createReporter({ service, webhook: destination }),
    createReporter({ service, webhook: { ...destination, format: 1, network: 'allow-private' } }),
    createReporter({ service, webhook: { settings: { applications: {} } } }),
    createReporter({ service, webhook: createWebhookSender(destination) }),
    createReporter({
      service,
      webhook: createWebhookSender<'open'>({ ...destination, dialect: 'open' }),
    }),
    createReporter({ service, log: { destination: 'security.log' } }),
    createReporter({ service, log: createLogWriter<'open'>({ dialect: 'open' }) }),
    createReporter({ service, log: false, platform: 'otel', strict: true }),
    createReporter({ service, beforeSend: (record) => ({ ...record, payload: {} }) }),
    createReporter({ service, beforeSend: () => null }),
    // @ts-expect-error a reporter without a service
    createReporter({}),
    // @ts-expect-error a destination without a secret
    createReporter({ service, webhook: { url: 'https://receiver.example' } }),
    // @ts-expect-error an option that does not exist
    createReporter({ service, webhooks: destination }),
  ];
}

export function takesWhatTheContractHas(): Receipt[] {
  const actor = { ip: '203.0.113.9', identifiers: { uid: 7 } };
  return [
    reporter.attack({ ruleset: 'sql_injection' }),
    // The open dialect: words of your own.
    reporter.attack({ ruleset: 'a_new_word' }, { actor }),
    reporter.vulnerabilityExploit({ protection: 'lfi' }, { detected_at: new Date() }),
    reporter.incident({ incident_id: 'i', incident_type: 'xss', name: 'n', severity: 'major' }),
    reporter.playbookTrigger({ name: 'Block IPs' }, { module: 'waf' }),
    reporter.userLogin(
      { success: true },
      { webhook: { message_type: 'security_event', message: {} } },
    ),
    reporter.userSignup({ success: false }, { webhook: false }),
    reporter.customEvent('order.placed', { total: 12.5, tags: ['a'] }),
    // @ts-expect-error the payload of another event
    reporter.attack({ protection: 'lfi' }),
    // @ts-expect-error a key that does not exist
    reporter.userLogin({ success: true, user: 'ada' }),
    // @ts-expect-error options that are no JSON object
    reporter.customEvent('order.placed', 7),
    // @ts-expect-error a part of a context that does not exist
    reporter.attack({ ruleset: 'xss' }, { user: 'ada' }),
    // @ts-expect-error an actor without a place for its mail
    reporter.attack({ ruleset: 'xss' }, { actor: { email: 'ada@example.com' } }),
  ];
}

/** As of variables of the environment that may be unset. */
export function takesUndefinedForAbsentValues(): unknown[] {
  const actor = { ip: '203.0.113.9', identifiers: undefined, svc_identifier: undefined };
  const incident = {
    incident_id: 'i',
    incident_type: 'xss',
    name: 'n',
    severity: 'major',
  } as const;
  return [
    createReporter({ service, log: { sync: undefined }, strict: undefined }),
    createReporter({ service, webhook: { ...destination, tls: undefined, format: undefined } }),
    reporter.attack({ ruleset: 'xss' }, { actor, detected_at: undefined, module: undefined }),
    reporter.attack({ ruleset: 'xss' }, { actor: undefined, http: undefined, webhook: undefined }),
    reporter.incident({ ...incident, event_type: undefined, related_ips: undefined }),
    // @ts-expect-error a required option
    createReporter({ service: undefined }),
  ];
}

export function isWhatAdaptersReportTo(): void {
  captureRequests();
  reportLogins(passport, { reporter });
}
