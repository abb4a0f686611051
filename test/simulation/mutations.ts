/**
 * The planted bugs, at least one per invariant. A test fails if the text of a bug no longer occurs exactly
 * once in its file.
 */
import type { Mutation } from './mutation.ts';
import { DESTINATION_MUTATIONS } from './mutations-of-destinations.ts';
import { MESSAGE_MUTATIONS } from './mutations-of-messages.ts';
import { REQUEST_MUTATIONS } from './mutations-of-requests.ts';
import { SENDER_MUTATIONS } from './mutations-of-senders.ts';

export const MUTATIONS: readonly Mutation[] = [
  ...REQUEST_MUTATIONS,
  ...DESTINATION_MUTATIONS,
  ...MESSAGE_MUTATIONS,
  ...SENDER_MUTATIONS,
];
