/**
 * Names of secret parameters. Sources: the defaults of Sentry's data scrubbing and of Rails'
 * `filter_parameters`, and the parameters of OAuth 2 and its extensions (RFC 6749, 7521, 7636, 8628,
 * 9449), OpenID Connect, SAML and CAS.
 */

const patterns = (lines: readonly string[]): readonly string[] => lines.join(' ').split(' ');

/**
 * The default list. A pattern matches whole words of a name, joined in any way: `apikey` matches
 * `x-api-key`, `apiKey` and `user[apikey]`; `pin` does not match `shipping`. With a `*` at one end it also
 * matches longer words: `*token` matches `authtoken`.
 */
export const SENSITIVE_KEYS: readonly string[] = patterns([
  // passwords
  '*password* *passwd* *passphrase* *passcode* pass pwd pw pin pincode',
  // passwords in German, French, Spanish, Portuguese, Dutch, Swedish, Norwegian, Danish,
  // Finnish, Polish, Czech, Hungarian, Turkish
  '*passwort* *kennwort* *motdepasse* mdp *contrasena* senha *wachtwoord* *losenord* *passord*',
  '*adgangskode* *salasana* haslo heslo *jelszo* sifre',
  // one-time codes
  'otp totp mfacode recoverycode backupcode verificationcode smscode logincode resetcode',
  'devicecode usercode',
  // tokens
  '*token *tokens jwt dpop bearer csrf xsrf authcode codeverifier samlresponse assertion',
  // secrets and keys
  '*secret* *apikey* *accesskey* *privatekey* *encryptionkey* signingkey authkey sshkey',
  '*credential* signature sig',
  // authorization
  '*authorization* auth',
  // cookies and sessions
  'cookie cookies session *sessionid* *sessid* sessionkey sid',
  // cards and accounts
  '*cardnumber* *creditcard* *debitcard* cardno ccnumber pan *cvv* cvc cvn csc cardcode',
  'securitycode iban accountnumber routingnumber',
  // people
  'ssn *socialsecurity* nationalid taxid passportnumber',
]);

/**
 * Names that both secrets and harmless parameters have: the `code` of OAuth or of a product, the `state` of OAuth
 * or of a country. Only values that look random are secrets.
 */
export const AMBIGUOUS_KEYS: readonly string[] = patterns([
  'code state nonce relaystate sessionstate ticket pgtid pgtiou samlart magiclink magic link',
  'invite invitation activation activate confirmation confirm unsubscribe verify verification',
  'reset challenge key salt clave codigo',
]);
