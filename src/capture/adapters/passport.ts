/** `security-event-delivery/passport`: reports Passport's logins without code in the application. */
import { invalidOption } from '../../option-rules.ts';
import { hasMethods } from '../../own-properties.ts';
import { type LoginOptions, LoginWatch } from './login-watch.ts';

export type { LoginAttempt, LoginOptions, LoginReporter } from './login-watch.ts';

/** The used part of a Passport instance, 0.4 to 0.7. */
export interface PassportLike {
  authenticate(...given: never): unknown;
}

/**
 * Reports the logins of all strategies of `passport`, registered now or later. The host's adapter must be in
 * use, so that the events have the context of their request.
 *
 * A success is reported when the strategy succeeds. A user who is authenticated by a login, a token or a
 * restored session is the user for the rest of the request, as with `identify`. A failure is reported
 * once all tried strategies have failed, with the name from the form. A request without credentials, or
 * an error, is not a failure. Passport's behaviour does not change. Strategies that are passed to
 * `authenticate` as objects, not by name, are not observed. A second call replaces the first.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option, or `passport`.
 */
export function reportLogins(passport: PassportLike, options: LoginOptions): void {
  const lookUp: unknown = Reflect.get(Object(passport) as object, LOOK_UP);
  if (typeof lookUp !== 'function') {
    throw invalidOption('expected an instance of Passport', ['passport']);
  }
  if (hasMethods(options, 'userLogin')) throw invalidOption(REPORTER_GIVEN, []);
  const logins = new LoginWatch(options);
  const watch: Watch = (strategy) => logins.watch(strategy);
  const isWatched = Object.hasOwn(passport, WATCH);
  Object.defineProperty(passport, WATCH, { configurable: true, value: watch });
  if (isWatched) return;
  // `authenticate` always looks strategies up with this method.
  Object.defineProperty(passport, LOOK_UP, {
    configurable: true,
    value: (...names: unknown[]): unknown => {
      const latest = Reflect.get(passport, WATCH) as Watch;
      return latest(Reflect.apply(lookUp, passport, names));
    },
    writable: true,
  });
}

type Watch = (strategy: unknown) => unknown;

/** Holds the function of the latest call, so that no login is reported twice, even by two copies of the package. */
const WATCH = Symbol.for('security-event-delivery.login-watch');

const LOOK_UP = '_strategy';

const REPORTER_GIVEN = 'expected options, found a reporter: pass it as `{ reporter }`';
