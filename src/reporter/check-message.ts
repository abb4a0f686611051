/** Checks of a message before a sender gets it. */
import { messageToSend } from '../contract/index.ts';
import { withOwnKeys } from '../contract/own-keys.ts';
import { SecurityEventError } from '../errors.ts';
import { invalidOption } from '../option-rules.ts';
import type { DraftMessage } from './build-message.ts';
import type { EventContext } from './event-input.ts';

/** Throws `ERR_INVALID_OPTION`. A sender would name the module by another path than the caller's. */
export function checkModule({ module }: EventContext): void {
  if (module === undefined || typeof module === 'string') return;
  throw invalidOption('expected context.module to be a string', ['context', 'module']);
}

/**
 * Validates a message synchronously, for `strict: true`: a sender would do so after the call, and a reporter may have
 * none.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`; its `path` begins with `webhook`, like that of a sender's error.
 */
export function checkMessage(message: DraftMessage): void {
  const { error } = messageToSend('open').safeParse(withOwnKeys(message));
  if (error === undefined) return;
  const issues = error.issues.map((issue) => ({ ...issue, path: ['webhook', ...issue.path] }));
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues, input: [message] });
}
