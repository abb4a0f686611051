/** The words of the contract's tables, written out from its text and not from the source. */
const words = (text: string): readonly [string, ...string[]] =>
  text.split(', ') as [string, ...string[]];

export const WORDS = {
  eventNames: words(
    'svc.ev0.threat.attack, svc.ev0.threat.vulnerability_exploit, svc.ev0.incident, svc.ev0.playbook_trigger, svc.ev0.user_event.login, svc.ev0.user_event.signup, svc.ev0.custom_event',
  ),
  verbs: words('GET, POST, PUT, PATCH, DELETE, OPTIONS'),
  schemes: words('http, https'),
  rulesets: words(
    'java_injection, security_scanner, nosql_injection, js_injection, sql_injection, php_eval, rfi, shell_injection, crs, lfi, xss, protocol',
  ),
  incidentEventTypes: words('create, update'),
  incidentTypes: words(
    'massive_sec_scan, sql_injection, nosql_injection, shellshock, ssrf, shell_injection, xxe, xss, lfi, targeted_attack, eval_injection, insecure_deserialization, failed_auth_peak, user_risk_increase, unusual_volume_of_signin, account_creation_peak',
  ),
  severities: words('minor, major, critical'),
  messageTypes: words('security_event, security_response, test'),
  incidentMessageTypes: words(
    'vulnerable_packages, http_scan, user_risk_increased, account_takeover',
  ),
  incidentStatuses: words('created, updated'),
  eventCategories: words('authentication, injection, http_error, package'),
  eventKinds: words(
    'auth_ato_attempt, auth_ato_success, auth_new_location, auth_tor_tentative, auth_multi_locations, auth_bruteforce, auth_scan, nosql_injection, shell_injection, shellshock, sql_injection, xss, evaluation, lfi, package_vulnerable, bot_scanning, not_found, scan, auth_scan_real_accounts, auth_scan_success',
  ),
  svcPayloadTypes: words('security_event, pulse, security_response, test'),
  pulseGenres: words(
    'vulnerable_packages, injection_eval, http_4xx_peak, http_5xx_peak, injection_lfi, injection_nosql, injection_sql, injection_shell, injection_shellshock, injection_xss, http_scan, failed_auth_peak, account_enumeration, user_risk_increased, account_takeover_success, account_enumeration_success, account_takeover, account_enumeration_real_accounts',
  ),
} as const;

export const oneOf = (list: readonly (string | number)[]): string =>
  `expected one of ${list.map((word) => JSON.stringify(word)).join(', ')}`;

const NEAR_MISSES: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['HTTP', 'http'],
  ['SQL_INJECTION', 'sql_injection'],
  ['HTTP_SCAN', 'http_scan'],
]);

/** `found "…"`, and for a near miss the word that was probably meant. */
export const foundWord = (word: string): string => {
  const near = NEAR_MISSES.get(word);
  return `found "${word}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
};
