/** Reads and validates the messages for `send`, up to the first issue. */
import { API_VERSION, contract, type Dialect, messageToSend } from '../../contract/index.ts';
import { readJson } from '../input.ts';
import type { Issue } from '../validate.ts';

export type Place = Pick<Issue, 'line' | 'index'>;

export interface InputMessage {
  readonly place: Place;
  /** In the form that `sendWebhook` accepts. */
  readonly message: object;
  /** Length of its JSON; the average for elements of an array. */
  readonly length: number;
}

export class InvalidInput extends Error {
  readonly issue: Issue;
  readonly hint: string | undefined;

  constructor(issue: Issue, hint?: string) {
    super(issue.message);
    this.name = 'InvalidInput';
    this.issue = issue;
    this.hint = hint;
  }
}

export interface InputRules {
  readonly format: 1 | 2;
  readonly dialect: Dialect;
}

const hasEnvelope = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'api_version' in value &&
  value.api_version === API_VERSION;

const CAPTURED_HINT =
  'This message was captured from a newer or another sender. `send` accepts only messages that this ' +
  'version of the contract allows: update security-events, or change the message.';

/** Accepts new messages, and captured ones, which keep their id and get a new envelope (D20). */
function readerOf({ format, dialect }: InputRules) {
  const newMessage = messageToSend(dialect);
  const { WebhookMessageV1, WebhookMessageV2 } = contract({ dialect });
  return (value: unknown, place: Place): object => {
    const isCaptured = format === 2 && hasEnvelope(value);
    const schema = format === 1 ? WebhookMessageV1 : isCaptured ? WebhookMessageV2 : newMessage;
    const { data, error } = schema.safeParse(value);
    const [first] = error?.issues ?? [];
    if (first !== undefined) {
      const issue = { ...place, path: first.path, message: first.message };
      throw new InvalidInput(issue, isCaptured ? CAPTURED_HINT : undefined);
    }
    if (!isCaptured) return data as object;
    const { message_id, message_type, message } = data as Readonly<Record<string, unknown>>;
    return { message_id, message_type, message };
  };
}

/** Reads NDJSON, a JSON array or a JSON object. Throws `InvalidInput` at the first issue. */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  rules: InputRules,
): AsyncGenerator<InputMessage> {
  const read = readerOf(rules);
  for await (const items of readJson(chunks)) {
    for (const item of items) {
      const { line } = item;
      if ('error' in item) throw new InvalidInput({ line, path: [], message: item.error });
      const { value, text } = item;
      if (!Array.isArray(value)) {
        yield { place: { line }, message: read(value, { line }), length: text.length };
        continue;
      }
      for (const [index, element] of value.entries()) {
        const place = { line, index };
        yield { place, message: read(element, place), length: text.length / value.length };
      }
    }
  }
}
