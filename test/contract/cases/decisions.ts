/** All decisions on shapes. */
import { CONTEXT_DECISIONS } from './context-decisions.ts';
import type { Decision } from './decision.ts';
import { ENVELOPE_DECISIONS } from './envelope-decisions.ts';
import { FREE_FORM } from './free-form.ts';
import { MESSAGE_DECISIONS } from './message-decisions.ts';
import { PAYLOAD_DECISIONS } from './payload-decisions.ts';
import { RECORD_DECISIONS } from './record-decisions.ts';
import { UNKNOWN_KEYS } from './unknown-keys.ts';
import { V1_DECISIONS } from './v1-decisions.ts';

export const DECISIONS: readonly Decision[] = [
  ...RECORD_DECISIONS,
  ...CONTEXT_DECISIONS,
  ...PAYLOAD_DECISIONS,
  ...ENVELOPE_DECISIONS,
  ...MESSAGE_DECISIONS,
  ...V1_DECISIONS,
  ...UNKNOWN_KEYS,
  ...FREE_FORM,
];
