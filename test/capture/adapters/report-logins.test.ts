import passportPackage, { type PassportStatic } from 'passport';
import { Strategy as LocalStrategy } from 'passport-local';
import { expect, test, vi } from 'vitest';
import { type LoginReporter, reportLogins } from '../../../src/capture/adapters/passport.ts';

const { Passport } = passportPackage as unknown as { Passport: new () => PassportStatic };

type UserLogin = LoginReporter['userLogin'];

test.each([undefined, {}, 'passport'])('reportLogins refuses %j, which is no Passport', (given) => {
  expect(() => reportLogins(given as never, { reporter: { userLogin: () => {} } })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['passport'] }),
  );
});

test('reportLogins refuses swapped arguments, and names the first', () => {
  const reporter = { userLogin: () => {} };
  expect(() => reportLogins(reporter as never, new Passport() as never)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['passport'] }),
  );
});

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
