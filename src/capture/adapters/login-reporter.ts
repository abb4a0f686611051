/** Who is told of logins by the adapters that see them happen. */
import type { RequestContext } from '../request/request-scope.ts';

/** What `userLogin` of a reporter is; a few lines over a log writer are one, too. */
export interface LoginReporter {
  /** What it gives is not waited for; what it throws, or rejects with, is not heard of. */
  userLogin(payload: { readonly success: boolean }, context?: RequestContext): unknown;
}

/** Never throws. */
export function reportLogin(
  reporter: LoginReporter,
  success: boolean,
  context: RequestContext,
): void {
  try {
    Promise.resolve(reporter.userLogin({ success }, context)).catch(() => {});
  } catch {
    // A login is served whether or not its event was.
  }
}
