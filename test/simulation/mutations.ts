/**
 * Planted bugs, at least one for each invariant, and within how many seeds the simulation has to find
 * them. A text that no longer occurs exactly once in its file fails a test, so that the list stays true.
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
