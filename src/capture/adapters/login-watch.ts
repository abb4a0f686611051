/** Sees what strategies of Passport decide, and reports what of it are logins. */
import { readProperty } from '../../own-properties.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { currentContext, currentScope, identify, runInScope } from '../request/request-scope.ts';
import type { Identifiers } from '../request/request-story.ts';
import { identifiersOfUser, triedIdentifiers } from './login-identifiers.ts';
import { type LoginReporter, reportLogin } from './login-reporter.ts';

/** One try of one strategy. */
export interface LoginAttempt {
  /** The strategy's own name, whatever it was registered as: `local`, `jwt`, `google`. */
  readonly strategy: string;
  readonly request: object;
  /** Those of `passport.authenticate(name, options)`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether it is a login where nothing else is told. */
  readonly byDefault: boolean;
}

export interface LoginOptions {
  readonly reporter: LoginReporter;
  /**
   * Whether an authentication is a login. Default: all but the session being restored, accounts that
   * are connected to a user (`authorize`), and, with `session: false`, strategies that take no name
   * and password from a form: those authenticate each request.
   */
  readonly isLogin?: ((attempt: LoginAttempt) => boolean) | undefined;
  /**
   * Who the user is: strings, numbers or booleans by name; `null`: not to be told. Default: those of
   * `id`, `uid`, `email`, `username` and `login` that there are.
   */
  readonly identifiersOf?: ((user: unknown) => Identifiers) | undefined;
}

type Act = (...given: unknown[]) => unknown;

/** A strategy while it serves one request: Passport derives it from the one that is registered. */
interface Strategy {
  readonly name?: unknown;
  readonly authenticate: Act;
  success: Act;
  fail: Act;
  pass: Act;
}

/** Strategies that are asked in turn. */
interface Chain {
  asked: number;
  hasFailedLogin: boolean;
  identifiers: Identifiers;
}

interface Failing {
  readonly fail: () => unknown;
  readonly report: () => void;
}

export class LoginWatch {
  readonly #options: LoginOptions;
  readonly #redactor = createRedactor();
  /** Of requests whose strategy has failed this moment: Passport asks the next one, if there is. */
  readonly #failing = new WeakMap<object, Chain>();

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** The registered strategy stays as it is. */
  watched(strategy: unknown): unknown {
    if (!isStrategy(strategy)) return strategy;
    const { authenticate } = strategy;
    const begin = (one: Strategy, given: readonly unknown[]): void => {
      guarded(() => this.#begin(one, given));
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
    chain.asked += 1;
    const isLogin = this.#isLogin(strategy, request, options);
    const inScope = resumer();
    const { success, fail, pass } = strategy;
    strategy.success = (...given) => {
      if (!isOfAnotherAccount(options)) inScope(() => this.#authenticated(given[0], isLogin));
      return Reflect.apply(success, strategy, given);
    };
    strategy.pass = (...given) => {
      inScope(() => this.#authenticated(restoredUser(strategy, request), false));
      return Reflect.apply(pass, strategy, given);
    };
    strategy.fail = (...given) => {
      if (isLogin && !lacksCredentials(strategy, request, given)) {
        chain.hasFailedLogin = true;
        chain.identifiers ??= guarded(() => this.#triedBy(strategy, request)) ?? null;
      }
      return this.#failOrGoOn(chain, request, {
        fail: () => Reflect.apply(fail, strategy, given),
        report: () => inScope(() => this.#failed(chain)),
      });
    };
  }

  /** Passport asks the next strategy before `fail` returns; where it does not, all have failed. */
  #failOrGoOn(chain: Chain, request: object, { fail, report }: Failing): unknown {
    const { asked } = chain;
    this.#failing.set(request, chain);
    try {
      return fail();
    } finally {
      this.#failing.delete(request);
      if (chain.asked === asked && chain.hasFailedLogin) report();
    }
  }

  #isLogin(strategy: Strategy, request: object, given: unknown): boolean {
    const options = (given ?? {}) as Readonly<Record<string, unknown>>;
    const byDefault =
      strategy.name !== 'session' &&
      !isOfAnotherAccount(given) &&
      (options['session'] !== false || usernameField(strategy) !== undefined);
    const { isLogin } = this.#options;
    if (isLogin === undefined) return byDefault;
    const attempt = { strategy: String(strategy.name), request, options, byDefault };
    return guarded(() => isLogin(attempt)) === true;
  }

  #authenticated(user: unknown, isLogin: boolean): void {
    const { identifiersOf = identifiersOfUser, reporter } = this.#options;
    const identifiers = user === undefined ? null : identifiersOf(user);
    if (identifiers) identify(identifiers);
    if (isLogin) reportLogin(reporter, true, currentContext());
  }

  #failed({ identifiers }: Chain): void {
    const { actor, ...context } = currentContext();
    const tried = identifiers === null ? {} : { identifiers };
    const named = actor === undefined ? {} : { actor: { ...actor, ...tried } };
    reportLogin(this.#options.reporter, false, { ...context, ...named });
  }

  #triedBy(strategy: Strategy, request: object): Identifiers {
    const sources = [readProperty(request, 'body'), readProperty(request, 'query')];
    return triedIdentifiers(sources, usernameField(strategy), this.#redactor);
  }
}

const newChain = (): Chain => ({ asked: 0, hasFailedLogin: false, identifiers: null });

function isStrategy(value: unknown): value is Strategy {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof Reflect.get(value, 'authenticate') === 'function'
  );
}

/** `authorize`: the user that there is connects an account. */
const isOfAnotherAccount = (options: unknown): boolean =>
  readProperty(Object(options) as object, 'assignProperty') !== undefined;

/** Passport's own strategy of sessions leaves the user in the request before it lets it pass. */
function restoredUser({ name }: Strategy, request: object): unknown {
  if (name !== 'session') return undefined;
  const property = readProperty(request, '_userProperty');
  return readProperty(request, typeof property === 'string' ? property : 'user') ?? undefined;
}

/** Of passport-local, and of what is made after it. */
const usernameField = (strategy: Strategy): unknown => readProperty(strategy, '_usernameField');

/** `Basic realm="…"` (RFC 9110 11.3), and not the words of an application. */
const CHALLENGE = /^[\w-]+(?: +[\w-]+ *=.*)?$/;

/**
 * As a strategy tells it: a bad request, or a challenge where there was no answer to one. What reads
 * a form hands on what the application says of a wrong password, be it one word.
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
  const headers = guarded(() => readProperty(request, 'headers'));
  return typeof headers === 'object' && headers !== null && Object.hasOwn(headers, 'authorization');
}

/** Runs work in the scope of now: what looks a user up may call back from outside. */
function resumer(): (work: () => void) => void {
  const scope = currentScope();
  return (work) => {
    guarded(() => (scope === undefined ? work() : runInScope(scope, work)));
  };
}

/** What fails here costs an event, and never a login. */
function guarded<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
