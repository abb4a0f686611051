/** Maps the vocabulary of records to that of messages: two tables, and the reporter's overrides. */
import type { PULSE_GENRES, RULESETS } from '../contract/index.ts';

/** The terms of a security event for a ruleset or protection. */
export interface EventTerms {
  /** `event_category` */
  readonly category: string;
  /** `event_kind` */
  readonly kind: string;
  /** What happened, for `humanized_description`. */
  readonly title: string;
}

/** The message type of an incident. */
export interface IncidentTerms {
  readonly message_type: string;
  /** The genre in v1, if it differs from the message type. */
  readonly pulse_genre?: string;
}

/** Missing terms come from the overridden row. */
export type EventVocabulary = Readonly<Record<string, Partial<EventTerms>>>;
/** `null`: no message. */
export type IncidentVocabulary = Readonly<Record<string, IncidentTerms | null>>;

const termsOf =
  (category: string) =>
  (kind: string, title: string): EventTerms => ({ category, kind, title });

const injectionTerms = termsOf('injection');
const httpErrorTerms = termsOf('http_error');

/** Category, kind and title of attacks by ruleset, and of exploits by protection (D47). */
export const EVENT_VOCABULARY = {
  sql_injection: injectionTerms('sql_injection', 'SQL injection'),
  nosql_injection: injectionTerms('nosql_injection', 'NoSQL injection'),
  shell_injection: injectionTerms('shell_injection', 'Shell injection'),
  shellshock: injectionTerms('shellshock', 'Shellshock injection'),
  xss: injectionTerms('xss', 'Cross-site scripting'),
  lfi: injectionTerms('lfi', 'Local file inclusion'),
  rfi: injectionTerms('lfi', 'Remote file inclusion'),
  js_injection: injectionTerms('evaluation', 'JavaScript injection'),
  java_injection: injectionTerms('evaluation', 'Java injection'),
  php_eval: injectionTerms('evaluation', 'PHP code injection'),
  eval: injectionTerms('evaluation', 'Code injection'),
  security_scanner: httpErrorTerms('bot_scanning', 'Security scanner'),
  crs: httpErrorTerms('scan', 'Suspicious requests'),
  protocol: httpErrorTerms('scan', 'HTTP protocol violation'),
} as const satisfies Record<(typeof RULESETS)[number] | 'shellshock' | 'eval', EventTerms>;

type PulseGenre = (typeof PULSE_GENRES)[number];

/** Message type of each incident type. Without a row, or with `null`, there is no message (D48). */
export const INCIDENT_VOCABULARY = {
  massive_sec_scan: { message_type: 'http_scan' },
  sql_injection: { message_type: 'injection_sql' },
  nosql_injection: { message_type: 'injection_nosql' },
  shellshock: { message_type: 'injection_shellshock' },
  shell_injection: { message_type: 'injection_shell' },
  xss: { message_type: 'injection_xss' },
  lfi: { message_type: 'injection_lfi' },
  eval_injection: { message_type: 'injection_eval' },
  ssrf: { message_type: 'injection_ssrf' },
  xxe: { message_type: 'injection_xxe' },
  insecure_deserialization: { message_type: 'injection_deserialization' },
  failed_auth_peak: { message_type: 'account_takeover', pulse_genre: 'failed_auth_peak' },
  unusual_volume_of_signin: { message_type: 'account_takeover' },
  user_risk_increase: { message_type: 'user_risk_increased' },
  targeted_attack: null,
  account_creation_peak: null,
} as const satisfies Record<
  string,
  { readonly message_type: string; readonly pulse_genre?: PulseGenre } | null
>;

const EVENTS: ReadonlyMap<string, EventTerms> = new Map(Object.entries(EVENT_VOCABULARY));
const INCIDENTS: ReadonlyMap<string, IncidentTerms | null> = new Map(
  Object.entries(INCIDENT_VOCABULARY),
);

/** Returns the terms of a ruleset or protection. An unknown one gets those of an injection, with its name as kind. */
export function findEventTerms(detection: string, overrides: EventVocabulary = {}): EventTerms {
  const row = EVENTS.get(detection) ?? injectionTerms(detection, titleOf(detection));
  return Object.hasOwn(overrides, detection) ? { ...row, ...overrides[detection] } : row;
}

/** Returns the row of an incident type, or `undefined` if it has no message. */
export function findIncidentTerms(
  type: string,
  overrides: IncidentVocabulary = {},
): IncidentTerms | undefined {
  const row = Object.hasOwn(overrides, type) ? overrides[type] : INCIDENTS.get(type);
  return row ?? undefined;
}

/** `Ssrf attempt` for `ssrf_attempt`. */
function titleOf(detection: string): string {
  const words = detection.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
