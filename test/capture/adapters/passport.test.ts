import { createServer } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import passportPackage, { type PassportStatic } from 'passport';
import { Strategy as LocalStrategy, type VerifyFunction } from 'passport-local';
import { describe, expect, test, vi } from 'vitest';
import { captureRequests } from '../../../src/capture/adapters/express.ts';
import {
  type LoginOptions,
  type LoginReporter,
  reportLogins,
} from '../../../src/capture/adapters/passport.ts';
import { currentContext, type RequestContext } from '../../../src/capture/index.ts';
import { listenOn } from '../../helpers/servers.ts';

const { Passport } = passportPackage as unknown as { Passport: new () => PassportStatic };

const ADA = { id: 7, email: 'ada@example.com', password: 'open sesame', roles: ['admin'] };

/** Calls back outside the caller's async context, as a pool of connections does. */
const verify: VerifyFunction = (name, password, done) => {
  setImmediate(() => {
    if (name === 'broken') done(new Error('no database'));
    else done(null, name === 'ada' && password === ADA.password ? ADA : false, { message: 'no' });
  });
};

/** Authenticates each request by a token, like passport-http-bearer. */
class TokenStrategy {
  readonly name = 'bearer';
  declare success: (user: object) => void;
  declare fail: (challenge: string) => void;
  authenticate(request: Request): void {
    if (request.headers.authorization === 'Bearer good') this.success(ADA);
    else this.fail('Bearer realm="Users"');
  }
}

type Login = { success: boolean; identifiers: unknown; path: unknown; status: unknown };

interface Agent {
  readonly passport: PassportStatic;
  readonly app: Express;
  readonly reported: Login[];
  readonly post: (path: string, body: object, headers?: Record<string, string>) => Promise<number>;
}

const loginOf = (success: boolean, { actor, http }: RequestContext): Login => ({
  success,
  identifiers: actor?.identifiers,
  path: http?.request.path,
  status: http?.response.status,
});

/** An application with Passport; strategies are registered before and after it is watched. */
async function started(options: Partial<LoginOptions> = {}): Promise<Agent> {
  const reported: Login[] = [];
  const passport = new Passport();
  passport.use(new LocalStrategy(verify));
  reportLogins(passport, {
    reporter: {
      userLogin: ({ success }, context = {}) => void reported.push(loginOf(success, context)),
    },
    ...options,
  });
  passport.use('by email', new LocalStrategy({ usernameField: 'user[email]' }, verify));
  passport.use(new TokenStrategy() as never);
  const app = express();
  app.set('env', 'test');
  app.use(captureRequests(), express.json());
  const origin = `http://127.0.0.1:${await listenOn(createServer(app))}`;
  const post: Agent['post'] = async (path, body, headers = {}) => {
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    await response.text();
    return response.status;
  };
  return { passport, app, reported, post };
}

const GOOD = { username: 'ada', password: ADA.password };
const BAD = { username: 'ada', password: 'guess' };
const ADAS = { id: 7, email: 'ada@example.com' };
const WITHOUT_SESSION = { session: false };

const whoAmI = (_request: Request, response: Response): void => {
  response.json(currentContext().actor?.identifiers ?? null);
};

describe('a login with Passport', () => {
  test('is reported when it succeeds, and sets the user for the rest of the request', async () => {
    const { app, passport, reported, post } = await started();
    const seen: unknown[] = [];
    app.post('/login', passport.authenticate('local', WITHOUT_SESSION), (request, response) => {
      seen.push(currentContext().actor?.identifiers, request.user);
      response.send('in');
    });
    expect(await post('/login', GOOD)).toBe(200);
    expect(reported).toEqual([
      { success: true, identifiers: ADAS, path: '/login', status: undefined },
    ]);
    expect(seen).toEqual([ADAS, ADA]);
  });

  test('is reported when it fails, with the tried name and the status', async () => {
    const { app, passport, reported, post } = await started();
    app.post('/login', passport.authenticate('local', WITHOUT_SESSION), whoAmI);
    expect(await post('/login', BAD)).toBe(401);
    const failed = { success: false, identifiers: { username: 'ada' }, path: '/login' };
    expect(reported).toEqual([{ ...failed, status: 401 }]);
  });

  test('is reported if the application’s own callback answers', async () => {
    const { app, passport, reported, post } = await started();
    const outcomes: unknown[] = [];
    app.post('/login', (request: Request, response: Response, next: NextFunction) => {
      const answer = (...given: unknown[]): void => {
        outcomes.push(given);
        response.status(given[1] ? 200 : 422).send('');
      };
      passport.authenticate('local', answer)(request, response, next);
    });
    expect(await post('/login', BAD)).toBe(422);
    expect(await post('/login', GOOD)).toBe(200);
    expect(outcomes).toEqual([
      [null, false, { message: 'no' }, undefined],
      [null, ADA, { message: 'no' }],
    ]);
    expect(reported).toMatchObject([
      { success: false, status: 422 },
      { success: true, identifiers: ADAS },
    ]);
  });

  test('is reported for middleware made before reportLogins', async () => {
    const passport = new Passport();
    passport.use(new LocalStrategy(verify));
    const early = passport.authenticate('local', WITHOUT_SESSION);
    const reported: boolean[] = [];
    const reporter = {
      userLogin: ({ success }: { success: boolean }) => void reported.push(success),
    };
    reportLogins(passport, { reporter });
    const { app, post } = await started();
    app.post('/login', early, whoAmI);
    await post('/login', GOOD);
    expect(reported).toEqual([true]);
  });
});

describe('no failed login', () => {
  test('is an error while the user is looked up', async () => {
    const { app, passport, reported, post } = await started();
    app.post('/login', passport.authenticate('local', WITHOUT_SESSION), whoAmI);
    expect(await post('/login', { username: 'broken', password: 'x' })).toBe(500);
    expect(reported).toEqual([]);
  });

  test('is a failure of one strategy if another succeeds', async () => {
    const { app, passport, reported, post } = await started();
    const either = passport.authenticate(['local', 'by email', 'bearer'], WITHOUT_SESSION);
    app.post('/login', either, whoAmI);
    const authorization = { authorization: 'Bearer good' };
    expect(await post('/login', BAD, authorization)).toBe(200);
    expect(reported).toEqual([]);
  });

  test('is reported once if all strategies failed', async () => {
    const { app, passport, reported, post } = await started();
    const either = passport.authenticate(['bearer', 'local', 'by email'], WITHOUT_SESSION);
    app.post('/login', either, whoAmI);
    // Passport's own answer: the first status that a strategy reported, which found no `user[email]`.
    expect(await post('/login', BAD)).toBe(400);
    expect(reported).toMatchObject([{ success: false, identifiers: { username: 'ada' } }]);
  });
});

describe('an authentication without a login', () => {
  test('sets the user of a restored session', async () => {
    const { app, passport, reported, post } = await started();
    passport.deserializeUser((id, done) => done(null, id === 7 ? ADA : false));
    const seen: unknown[] = [];
    app.use((request, _response, next) => {
      const user = Number(request.headers['x-user']);
      Object.assign(request, { session: { passport: user > 0 ? { user } : {} } });
      next();
    });
    app.post('/', passport.session(), (_request, response) => {
      seen.push(currentContext().actor?.identifiers);
      response.send('');
    });
    for (const user of ['7', '8', '0']) await post('/', {}, { 'x-user': user });
    expect(seen).toEqual([ADAS, null, null]);
    expect(reported).toEqual([]);
  });

  test('is an account being connected, which does not change the user', async () => {
    const { app, passport, reported, post } = await started();
    const seen: unknown[] = [];
    app.post('/connect', passport.authorize('local'), (_request, response) => {
      seen.push(currentContext().actor?.identifiers);
      response.send('');
    });
    await post('/connect', GOOD);
    await post('/connect', BAD);
    expect(seen).toEqual([null]);
    expect(reported).toEqual([]);
  });

  test('is chosen by isLogin, which gets the default', async () => {
    const attempts: unknown[] = [];
    const { app, passport, reported, post } = await started({
      isLogin: (attempt) => {
        attempts.push(attempt);
        return !attempt.byDefault;
      },
    });
    const options = { session: false };
    app.post('/login', passport.authenticate('by email', options), whoAmI);
    app.post('/api', passport.authenticate('bearer', options), whoAmI);
    await post('/login', { user: { email: 'ada' }, password: ADA.password });
    await post('/api', {}, { authorization: 'Bearer good' });
    expect(attempts).toEqual([
      { strategy: 'local', request: expect.anything(), options, byDefault: true },
      { strategy: 'bearer', request: expect.anything(), options, byDefault: false },
    ]);
    expect(reported).toMatchObject([{ success: true, path: '/api' }]);
  });
});

describe('a Passport that is watched', () => {
  test('does not change its strategies, and still refuses unknown ones', async () => {
    const strategy = Object.freeze(new LocalStrategy(verify));
    const { app, passport, reported, post } = await started();
    passport.use('frozen', strategy);
    app.post('/login', passport.authenticate('frozen', WITHOUT_SESSION), whoAmI);
    app.post('/unknown', passport.authenticate('missing', WITHOUT_SESSION), whoAmI);
    expect(await post('/login', GOOD)).toBe(200);
    expect(await post('/unknown', GOOD)).toBe(500);
    expect(reported).toHaveLength(1);
  });

  test('reports events without a context if no adapter is in use', async () => {
    const contexts: unknown[] = [];
    const passport = new Passport();
    passport.use(new LocalStrategy(verify));
    const userLogin = (_payload: unknown, context: unknown): number => contexts.push(context);
    reportLogins(passport, { reporter: { userLogin } });
    for (const body of [GOOD, BAD]) {
      await new Promise((done) => {
        passport.authenticate('local', done as () => void)({ body, headers: {} }, {}, done);
      });
    }
    await expect.poll(() => contexts).toEqual([{}, {}]);
  });
});

type UserLogin = LoginReporter['userLogin'];

test.each([undefined, {}, 'passport', { userLogin: () => {} }])(
  'reportLogins refuses %o, which is no Passport',
  (given) => {
    expect(() => reportLogins(given as never, { reporter: { userLogin: () => {} } })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['passport'] }),
    );
  },
);

test('reportLogins refuses a reporter in place of the options, and says what to pass', () => {
  const reporter = { userLogin: () => {} };
  expect(() => reportLogins(new Passport(), reporter as never)).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('found a reporter: pass it as `{ reporter }`'),
    }),
  );
});

test.each(['this copy', 'another copy'])(
  'A second call of reportLogins, from %s of the package, replaces the first',
  async (which) => {
    if (which === 'another copy') vi.resetModules();
    const { reportLogins: again } = await import('../../../src/capture/adapters/passport.ts');
    const passport = new Passport();
    passport.use(new LocalStrategy((_name, _password, done) => done(null, { id: 7 })));
    const [first, second] = [vi.fn<UserLogin>(), vi.fn<UserLogin>()];
    reportLogins(passport, { reporter: { userLogin: first } });
    again(passport, { reporter: { userLogin: second } });
    const body = { username: 'ada', password: 'open sesame' };
    await new Promise((done) => {
      passport.authenticate('local', done as () => void)({ body, headers: {} }, {}, done);
    });
    await expect.poll(() => second.mock.calls).toEqual([[{ success: true }, {}]]);
    expect(first).not.toHaveBeenCalled();
  },
);
