/** `security-event-delivery/passport`: logins of Passport, reported without code of the application. */

import { A_FUNCTION, check, invalidOption, object } from '../../option-rules.ts';
import { ownProperties } from '../../own-properties.ts';
import { type LoginOptions, LoginWatch } from './login-watch.ts';

export type { LoginReporter } from './login-reporter.ts';
export type { LoginAttempt, LoginOptions } from './login-watch.ts';

/** What is used of a Passport instance; of 0.4 to 0.7, whose strategies are looked up by name. */
export interface PassportLike {
  authenticate(...given: never): unknown;
}

const RULES = {
  reporter: object(
    'an object with userLogin',
    (reporter) => 'userLogin' in reporter && typeof reporter.userLogin === 'function',
  ),
  isLogin: A_FUNCTION,
  identifiersOf: A_FUNCTION,
};

/**
 * Reports each login that the strategies of `passport` decide, those there are and those to come, in
 * the context of the request; for that, the host's adapter must be in use.
 *
 * A success is reported when the strategy tells it. Whoever is authenticated, by a login, a token or
 * a restored session, is the user for the rest of the request, as `identify` has it. A failure is reported once all strategies that were asked have failed, and
 * names whom the form named. Neither a request without credentials nor an error is a failure. What
 * Passport does stays the same. A strategy that is given as an object and not by name is not seen.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option, or `passport`.
 */
export function reportLogins(passport: PassportLike, options: LoginOptions): void {
  const { reporter, ...given } = check<LoginOptions>(options, RULES);
  if (reporter === undefined) throw invalidOption('expected a reporter', ['reporter']);
  const lookUp: unknown = Reflect.get(Object(passport) as object, LOOK_UP);
  if (typeof lookUp !== 'function') {
    throw invalidOption('expected an instance of Passport', ['passport']);
  }
  const watch = new LoginWatch(ownProperties({ reporter, ...given }));
  // By this alone `authenticate` finds a strategy, whenever and by whomever either was made.
  Object.defineProperty(passport, LOOK_UP, {
    configurable: true,
    value: (...names: unknown[]): unknown => watch.watched(Reflect.apply(lookUp, passport, names)),
    writable: true,
  });
}

const LOOK_UP = '_strategy';
