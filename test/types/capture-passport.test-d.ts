/** Types of the Passport adapter. */
import passport from 'passport';
import { type LoginReporter, reportLogins } from '../../src/capture/adapters/passport.ts';
import { identify } from '../../src/capture/index.ts';

declare const reporter: LoginReporter;

export const waiting: LoginReporter = {
  userLogin: async ({ success }, context) => ({ success, address: context?.actor?.ip?.address }),
};

export function takesTheRealOne(): void {
  reportLogins(passport, { reporter });
  reportLogins(passport, {
    reporter,
    isLogin: ({ strategy, byDefault }) => byDefault || strategy === 'basic',
    identifiersOf: (user) => ({ id: (user as { id: number }).id }),
  });
  // @ts-expect-error no reporter
  reportLogins(passport, {});
  // @ts-expect-error no Passport
  reportLogins({}, { reporter });
  // @ts-expect-error an identifier that is no scalar
  reportLogins(passport, { reporter, identifiersOf: () => ({ roles: ['admin'] }) });
  // @ts-expect-error a user is not any
  reportLogins(passport, { reporter, identifiersOf: (user) => ({ id: user.id }) });
  identify(null);
}
