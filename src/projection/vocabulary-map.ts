/** Maps the vocabulary of records to that of messages: two tables, and the reporter's overrides. */
import type { PULSE_GENRES, RULESETS } from '../contract/index.ts';

/** The words of a security event for a ruleset or protection. */
export interface EventWords {
  /** `event_category` */
  readonly category: string;
  /** `event_kind` */
  readonly kind: string;
  /** What happened, in words, for `humanized_description`. */
  readonly title: string;
}

/** The message type of an incident. */
export interface IncidentWords {
  readonly message_type: string;
  /** The genre in v1, if it differs from the message type. */
  readonly pulse_genre?: string;
}

/** Words that a row does not have are those of the row that it overrides. */
export type EventWordsTable = Readonly<Record<string, Partial<EventWords>>>;
/** `null`: no message. */
export type IncidentWordsTable = Readonly<Record<string, IncidentWords | null>>;

const injection = (kind: string, title: string): EventWords => ({
  category: 'injection',
  kind,
  title,
});

const httpError = (kind: string, title: string): EventWords => ({
  category: 'http_error',
  kind,
  title,
});

/** Rulesets of attacks, and protections (D47). */
export const EVENT_WORDS = {
  sql_injection: injection('sql_injection', 'SQL injection'),
  nosql_injection: injection('nosql_injection', 'NoSQL injection'),
  shell_injection: injection('shell_injection', 'Shell injection'),
  shellshock: injection('shellshock', 'Shellshock injection'),
  xss: injection('xss', 'Cross-site scripting'),
  lfi: injection('lfi', 'Local file inclusion'),
  rfi: injection('lfi', 'Remote file inclusion'),
  js_injection: injection('evaluation', 'JavaScript injection'),
  java_injection: injection('evaluation', 'Java injection'),
  php_eval: injection('evaluation', 'PHP code injection'),
  eval: injection('evaluation', 'Code injection'),
  security_scanner: httpError('bot_scanning', 'Security scanner'),
  crs: httpError('scan', 'Suspicious requests'),
  protocol: httpError('scan', 'HTTP protocol violation'),
} as const satisfies Record<(typeof RULESETS)[number] | 'shellshock' | 'eval', EventWords>;

type PulseGenre = (typeof PULSE_GENRES)[number];

/** An incident without a row, or with `null`, has no message (D48). */
export const INCIDENT_WORDS = {
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

const EVENTS: ReadonlyMap<string, EventWords> = new Map(Object.entries(EVENT_WORDS));
const INCIDENTS: ReadonlyMap<string, IncidentWords | null> = new Map(
  Object.entries(INCIDENT_WORDS),
);

/** Returns the row of a ruleset or protection; an unknown word is an injection of that kind. */
export function eventWords(word: string, overrides: EventWordsTable = {}): EventWords {
  const row = EVENTS.get(word) ?? injection(word, titleOf(word));
  return Object.hasOwn(overrides, word) ? { ...row, ...overrides[word] } : row;
}

/** Returns the row of an incident type, or `undefined` if it has no message. */
export function incidentWords(
  type: string,
  overrides: IncidentWordsTable = {},
): IncidentWords | undefined {
  const row = Object.hasOwn(overrides, type) ? overrides[type] : INCIDENTS.get(type);
  return row ?? undefined;
}

/** `Ssrf attempt` for `ssrf_attempt`. */
function titleOf(word: string): string {
  const words = word.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
