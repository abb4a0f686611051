/** The words of the contract. Whether a vocabulary is closed depends on the field and the dialect. */

/** The version written into every log record (D3). */
export const EVENT_VERSION = '1.0.0';

/** The version written into every v2 webhook message (D22). */
export const API_VERSION = '2';

/** Maximum number of messages in one webhook request (D31). */
export const MAX_MESSAGES_PER_REQUEST = 1000;

/** The names of log records; an exploit's may have a suffix (D1). */
export const EVENT_NAMES = [
  'svc.ev0.threat.attack',
  'svc.ev0.threat.vulnerability_exploit',
  'svc.ev0.incident',
  'svc.ev0.playbook_trigger',
  'svc.ev0.user_event.login',
  'svc.ev0.user_event.signup',
  'svc.ev0.custom_event',
] as const;

export const VERBS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export const SCHEMES = ['http', 'https'] as const;

export const RULESETS = [
  'java_injection',
  'security_scanner',
  'nosql_injection',
  'js_injection',
  'sql_injection',
  'php_eval',
  'rfi',
  'shell_injection',
  'crs',
  'lfi',
  'xss',
  'protocol',
] as const;

export const INCIDENT_EVENT_TYPES = ['create', 'update'] as const;

export const INCIDENT_TYPES = [
  'massive_sec_scan',
  'sql_injection',
  'nosql_injection',
  'shellshock',
  'ssrf',
  'shell_injection',
  'xxe',
  'xss',
  'lfi',
  'targeted_attack',
  'eval_injection',
  'insecure_deserialization',
  'failed_auth_peak',
  'user_risk_increase',
  'unusual_volume_of_signin',
  'account_creation_peak',
] as const;

export const SEVERITIES = ['minor', 'major', 'critical'] as const;

/** Channel B message types that are not incidents (D25). */
export const MESSAGE_TYPES = ['security_event', 'security_response', 'test'] as const;

/** Incident message types with a fixed name; `injection_` + a word is also one (D25). */
export const INCIDENT_MESSAGE_TYPES = [
  'vulnerable_packages',
  'http_scan',
  'user_risk_increased',
  'account_takeover',
] as const;

export const INCIDENT_STATUSES = ['created', 'updated'] as const;

/** Known event categories; any string is legal (D26). */
export const EVENT_CATEGORIES = ['authentication', 'injection', 'http_error', 'package'] as const;

/** Known event kinds; any string is legal (D26). */
export const EVENT_KINDS = [
  'auth_ato_attempt',
  'auth_ato_success',
  'auth_new_location',
  'auth_tor_tentative',
  'auth_multi_locations',
  'auth_bruteforce',
  'auth_scan',
  'auth_scan_real_accounts',
  'auth_scan_success',
  'nosql_injection',
  'shell_injection',
  'shellshock',
  'sql_injection',
  'xss',
  'evaluation',
  'lfi',
  'package_vulnerable',
  'bot_scanning',
  'not_found',
  'scan',
] as const;

/** Values of `svc_payload_type` in format 1. */
export const SVC_PAYLOAD_TYPES = ['security_event', 'pulse', 'security_response', 'test'] as const;

/** The words of `pulse_genre`: types of incidents in format 1 (D43). */
export const PULSE_GENRES = [
  'vulnerable_packages',
  'injection_eval',
  'http_4xx_peak',
  'http_5xx_peak',
  'injection_lfi',
  'injection_nosql',
  'injection_sql',
  'injection_shell',
  'injection_shellshock',
  'injection_xss',
  'http_scan',
  'failed_auth_peak',
  'account_enumeration',
  'user_risk_increased',
  'account_takeover_success',
  'account_enumeration_success',
  'account_takeover',
  'account_enumeration_real_accounts',
] as const;
