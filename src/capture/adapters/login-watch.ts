/** Observes the results of Passport's strategies, and reports logins. */
import {
  A_FUNCTION,
  type OptionsOf,
  type OptionValues,
  object,
  option,
  optional,
  readOptions,
  required,
} from '../../option-rules.ts';
import { hasMethods, readProperty } from '../../own-properties.ts';
import { debugError } from '../../runtime/diagnostics.ts';
import { ignoreRejection, tryCall } from '../../runtime/host-calls.ts';
import { createRedactor } from '../redaction/redactor.ts';
import type { Identifiers } from '../request/identifiers.ts';
import {
  currentContext,
  currentScope,
  identify,
  type RequestContext,
  runInScope,
} from '../request/request-scope.ts';
import { identifiersOfUser, triedIdentifiers } from './login-identifiers.ts';

/** The `userLogin` method of a reporter, or your own. */
export interface LoginReporter {
  /** A returned promise is not awaited; errors and rejections are ignored. */
  userLogin(payload: { readonly success: boolean }, context?: RequestContext): unknown;
}

/** One attempt by one strategy. */
export interface LoginAttempt {
  /** The strategy's own name, not the one it was registered as: `local`, `jwt`, `google`. */
  readonly strategy: string;
  readonly request: object;
  /** The options of `passport.authenticate(name, options)`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether it counts as a login by default. */
  readonly byDefault: boolean;
}

const OPTIONS = {
  reporter: required<LoginReporter>(
    object('an object with userLogin', (reporter) => hasMethods(reporter, 'userLogin')),
  ),
  /**
   * Returns whether an authentication is a login. Default: all except restored sessions and accounts that
   * are connected to a user (`authorize`). With `session: false` only strategies that read a name and
   * password from a form are logins: all others authenticate each request.
   */
  isLogin: optional<(attempt: LoginAttempt) => boolean>(A_FUNCTION),
  /**
   * Returns the user's identifiers: strings, numbers or booleans by name; `null`: none. Default: `id`,
   * `uid`, `email`, `username` and `login`, if present.
   */
  identifiersOf: option<(user: unknown) => Identifiers>(A_FUNCTION, identifiersOfUser),
} as const;

export interface LoginOptions extends OptionsOf<typeof OPTIONS> {
  readonly reporter: LoginReporter;
}

type Act = (...given: unknown[]) => unknown;

/** A strategy while it serves one request: Passport derives it from the registered one. */
interface Strategy {
  readonly name?: unknown;
  readonly authenticate: Act;
  success: Act;
  fail: Act;
  pass: Act;
}

/** Strategies that Passport tries one after the other. */
interface Chain {
  /** Number of strategies so far. */
  tried: number;
  hasFailedLogin: boolean;
  identifiers: Identifiers;
}

/** Guards all calls: an error here never breaks a login, and one of an option's function loses no event. */
export class LoginWatch {
  readonly #options: OptionValues<typeof OPTIONS>;
  readonly #redactor = createRedactor();
  /** The chain of each request whose strategy is failing now: Passport may try the next strategy. */
  readonly #failing = new WeakMap<object, Chain>();

  constructor(options: LoginOptions) {
    this.#options = readOptions(options, OPTIONS);
  }

  /** Returns a derived strategy; the registered one is not changed. */
  watch(strategy: unknown): unknown {
    if (!hasMethods(strategy, 'authenticate')) return strategy;
    const { authenticate } = strategy as Strategy;
    const begin = (derived: Strategy, given: readonly unknown[]): void => {
      tryCall(() => this.#begin(derived, given));
    };
    return Object.create(strategy, {
      authenticate: {
        configurable: true,
        value(this: Strategy, ...given: unknown[]): unknown {
          begin(this, given);
          return Reflect.apply(authenticate, this, given);
        },
        writable: true,
      },
    }) as unknown;
  }

  #begin(strategy: Strategy, [request, options]: readonly unknown[]): void {
    if (typeof request !== 'object' || request === null) return;
    const chain = this.#failing.get(request) ?? newChain();
    chain.tried += 1;
    const isLogin = this.#isLogin(strategy, request, options);
    const inScope = resumer();
    const { success, fail, pass } = strategy;
    strategy.success = (...given) => {
      if (!connectsAccount(options)) inScope(() => this.#authenticated(given[0], isLogin));
      return Reflect.apply(success, strategy, given);
    };
    strategy.pass = (...given) => {
      inScope(() => this.#authenticated(restoredUser(strategy, request), false));
      return Reflect.apply(pass, strategy, given);
    };
    strategy.fail = (...given) => {
      if (isLogin && !lacksCredentials(strategy, request, given)) {
        chain.hasFailedLogin = true;
        chain.identifiers ??= tryCall(() => this.#triedBy(strategy, request)) ?? null;
      }
      const { tried } = chain;
      this.#failing.set(request, chain);
      try {
        return Reflect.apply(fail, strategy, given);
      } finally {
        this.#failing.delete(request);
        // Passport tries the next strategy before `fail` returns; if it did not, all have failed.
        const isEnd = chain.tried === tried && chain.hasFailedLogin;
        if (isEnd) inScope(() => this.#failed(chain));
      }
    };
  }

  #isLogin(strategy: Strategy, request: object, given: unknown): boolean {
    const options = (given ?? {}) as Readonly<Record<string, unknown>>;
    const byDefault =
      strategy.name !== 'session' &&
      !connectsAccount(given) &&
      (options['session'] !== false || usernameField(strategy) !== undefined);
    const { isLogin } = this.#options;
    if (isLogin === undefined) return byDefault;
    const attempt = { strategy: String(strategy.name), request, options, byDefault };
    const chosen = tryHost<readonly unknown[]>('isLogin', () => [isLogin(attempt)]) ?? [byDefault];
    return chosen[0] === true;
  }

  #authenticated(user: unknown, isLogin: boolean): void {
    const { identifiersOf, reporter } = this.#options;
    const identifiers =
      user === undefined ? null : tryHost('identifiersOf', () => identifiersOf(user));
    if (identifiers) identify(identifiers);
    if (isLogin) ignoreRejection(reporter.userLogin({ success: true }, currentContext()));
  }

  #failed({ identifiers }: Chain): void {
    const { actor, ...context } = currentContext();
    const attempted = identifiers === null ? {} : { identifiers };
    const named = actor === undefined ? {} : { actor: { ...actor, ...attempted } };
    ignoreRejection(this.#options.reporter.userLogin({ success: false }, { ...context, ...named }));
  }

  #triedBy(strategy: Strategy, request: object): Identifiers {
    const sources = [readProperty(request, 'body'), readProperty(request, 'query')];
    return triedIdentifiers(sources, usernameField(strategy), this.#redactor);
  }
}

/** Returns what an option's function returns, or `undefined` if it throws; NODE_DEBUG prints the error. */
function tryHost<T>(name: keyof typeof OPTIONS, call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    debugError(name, error);
    return undefined;
  }
}

const newChain = (): Chain => ({ tried: 0, hasFailedLogin: false, identifiers: null });

/** Returns whether `passport.authorize` was called: the current user connects another account. */
const connectsAccount = (options: unknown): boolean =>
  readProperty(Object(options) as object, 'assignProperty') !== undefined;

/** Passport's session strategy sets the user on the request before it passes. */
function restoredUser({ name }: Strategy, request: object): unknown {
  if (name !== 'session') return undefined;
  const property = readProperty(request, '_userProperty');
  return readProperty(request, typeof property === 'string' ? property : 'user') ?? undefined;
}

/** Set by passport-local and strategies modelled on it. */
const usernameField = (strategy: Strategy): unknown => readProperty(strategy, '_usernameField');

/** `Basic realm="…"` (RFC 9110 section 11.3), not a sentence of the application. */
const CHALLENGE = /^[\w-]+(?: +[\w-]+ *=.*)?$/;

/**
 * Returns whether the request had no credentials: the strategy failed with status 400, or with a challenge and
 * there is no Authorization header. Strategies that read a form fail with the application's own text, which may
 * look like a challenge.
 */
function lacksCredentials(
  strategy: Strategy,
  request: object,
  [challenge, status]: readonly unknown[],
): boolean {
  if ((typeof challenge === 'number' ? challenge : status) === 400) return true;
  if (typeof challenge !== 'string' || !CHALLENGE.test(challenge)) return false;
  return usernameField(strategy) === undefined && !hasAuthorization(request);
}

function hasAuthorization(request: object): boolean {
  const headers = tryCall(() => readProperty(request, 'headers'));
  return typeof headers === 'object' && headers !== null && Object.hasOwn(headers, 'authorization');
}

/** Returns a function that runs work in the current scope: a user look-up may call back outside it. */
function resumer(): (work: () => void) => void {
  const scope = currentScope();
  return (work) => {
    tryCall(() => (scope === undefined ? work() : runInScope(scope, work)));
  };
}
