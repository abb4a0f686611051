import { describe, expect, test } from 'vitest';
import { type LoginOptions, LoginWatch } from '../../../src/capture/adapters/login-watch.ts';
import { currentContext, type RequestContext } from '../../../src/capture/index.ts';
import { RequestScope, runInScope } from '../../../src/capture/request/request-scope.ts';

type Login = readonly [success: boolean, identifiers: unknown];

/** A strategy as Passport calls it, which runs the test's function. */
interface OwnStrategy {
  readonly name?: unknown;
  readonly _usernameField?: string;
  authenticate(request?: unknown, options?: unknown): unknown;
}

interface Calls {
  success(...given: unknown[]): unknown;
  fail(...given: unknown[]): unknown;
  pass(...given: unknown[]): unknown;
}

const scope = (): RequestScope =>
  new RequestScope(() => ({
    actor: { identifiers: null, ip: {} as never, svc_identifier: null },
    http: { request: {}, response: { blocked: false } },
  }));

/** The logins that one request reports, and the results of the strategy's calls. */
function outcome(
  strategy: Partial<OwnStrategy> & { readonly act: (self: Calls) => unknown },
  { request = {}, options, watch = {} }: Asked = {},
): { reported: Login[]; gave: unknown; identifiers: unknown } {
  const reported: Login[] = [];
  const reporter = {
    userLogin: ({ success }: { success: boolean }, context: RequestContext = {}) =>
      void reported.push([success, context.actor?.identifiers]),
  };
  const own = {
    authenticate(this: Calls): unknown {
      return strategy.act(this);
    },
    ...strategy,
  };
  const watched = new LoginWatch({ reporter, ...watch }).watch(own) as OwnStrategy;
  // Passport derives one for each request, and sets the functions that handle its result.
  const serving = Object.assign(Object.create(watched) as OwnStrategy & Calls, {
    success: () => 'passport succeeded',
    fail: () => 'passport failed',
    pass: () => 'passport passed',
  });
  return runInScope(scope(), () => {
    const gave = serving.authenticate(request, options);
    return { reported, gave, identifiers: currentContext().actor?.identifiers };
  });
}

interface Asked {
  readonly request?: unknown;
  readonly options?: unknown;
  readonly watch?: Partial<LoginOptions>;
}

const FORM = { name: 'local', _usernameField: 'username' };
const BODY = { body: { username: 'ada', password: 'guess' }, headers: {} };

const refuse = (self: Calls): unknown => self.fail({ message: 'no' });
const accept = (self: Calls): unknown => self.success({ id: 7 });
const letPass = (self: Calls): unknown => self.pass();

function throwOfTheApplication(): never {
  throw new Error('of the application');
}

describe('a strategy', () => {
  test.each([undefined, null, 'local', 7, {}, { authenticate: 'no function' }])(
    'is not wrapped if it is none: %j',
    (given) => {
      expect(new LoginWatch({ reporter: { userLogin: () => {} } }).watch(given)).toBe(given);
    },
  );

  test.each([null, 'a request'])(
    'is not watched for a request that is no object: %j',
    (request) => {
      const { reported, gave } = outcome({ ...FORM, act: refuse }, { request });
      expect([reported, gave]).toEqual([[], 'passport failed']);
    },
  );

  test('is reported as undefined without a name', () => {
    const names: unknown[] = [];
    const isLogin: LoginOptions['isLogin'] = ({ strategy }) => {
      names.push(strategy);
      return true;
    };
    expect(outcome({ act: accept }, { watch: { isLogin } }).reported).toEqual([[true, { id: 7 }]]);
    expect(names).toEqual(['undefined']);
  });

  test('is judged by default if isLogin throws', () => {
    expect(
      outcome({ ...FORM, act: accept }, { watch: { isLogin: throwOfTheApplication } }),
    ).toEqual({
      reported: [[true, { id: 7 }]],
      gave: 'passport succeeded',
      identifiers: { id: 7 },
    });
  });

  test.each<[string, LoginOptions['identifiersOf'], unknown]>([
    ['throws', throwOfTheApplication, null],
    ['returns null', () => null, null],
    ['returns others', () => ({ account: 'a-7' }), { account: 'a-7' }],
  ])('is reported if identifiersOf %s', (_what, identifiersOf, identifiers) => {
    const { reported, gave } = outcome({ ...FORM, act: accept }, { watch: { identifiersOf } });
    expect([reported, gave]).toEqual([[[true, identifiers]], 'passport succeeded']);
  });

  test.each([
    ['throws', throwOfTheApplication],
    ['rejects', () => Promise.reject(new Error('later'))],
  ])('loses only its event if the reporter %s', (_what, userLogin) => {
    const watch = { reporter: { userLogin } };
    expect(outcome({ ...FORM, act: accept }, { watch }).gave).toBe('passport succeeded');
    expect(outcome({ ...FORM, act: refuse }, { request: BODY, watch }).gave).toBe(
      'passport failed',
    );
  });
});

const BASIC = { name: 'basic' };
const CHALLENGE = 'Basic realm="Users"';
const unreadable = {
  get headers(): never {
    throw new Error('gone');
  },
};

describe('a failure', () => {
  const tried = { username: 'ada' };

  test.each<[string, Partial<OwnStrategy>, readonly unknown[], unknown, readonly Login[]]>([
    ['an object', FORM, [{ message: 'no' }], BODY, [[false, tried]]],
    ['what looks like a challenge', FORM, ['Form realm="a"'], BODY, [[false, tried]]],
    ['a status', FORM, [401], BODY, [[false, tried]]],
    ['a bad request', FORM, [{ message: 'Missing credentials' }, 400], BODY, []],
    ['a bad request alone', FORM, [400], BODY, []],
    ['a challenge', BASIC, [CHALLENGE], { headers: {} }, []],
    ['a challenge alone', BASIC, ['Bearer'], { headers: {} }, []],
    ['more of a challenge', BASIC, ['Digest realm="a", nonce="b"'], { headers: {} }, []],
    ['no headers to a challenge', BASIC, [CHALLENGE], {}, []],
    ['headers that throw', BASIC, [CHALLENGE], unreadable, []],
    ['another text', BASIC, ['wrong user or password'], { headers: {} }, [[false, null]]],
    [
      'a challenge to credentials',
      BASIC,
      [CHALLENGE],
      { headers: { authorization: 'Basic eA==' } },
      [[false, null]],
    ],
  ])('with %s is or is not a failed login', (_with, strategy, given, request, reported) => {
    const act = (self: Calls): unknown => self.fail(...given);
    expect(outcome({ ...strategy, act }, { request })).toMatchObject({
      reported,
      gave: 'passport failed',
    });
  });

  test('has no identifiers if the body cannot be read', () => {
    const request = {
      get body(): never {
        throw new Error('gone');
      },
    };
    expect(outcome({ ...FORM, act: refuse }, { request })).toMatchObject({
      reported: [[false, null]],
    });
  });
});

describe('a restored session', () => {
  test.each([
    ['another property', { _userProperty: 'account', account: { id: 8 } }, { id: 8 }],
    ['no user', {}, null],
  ])('sets its user, and is no login: %s', (_of, request, identifiers) => {
    const session = { name: 'session', act: letPass };
    expect(outcome(session, { request })).toEqual({
      reported: [],
      gave: 'passport passed',
      identifiers,
    });
  });

  test('is only read from the session strategy', () => {
    const request = { user: { id: 7 } };
    expect(outcome({ name: 'anonymous', act: letPass }, { request }).identifiers).toBeNull();
  });
});
