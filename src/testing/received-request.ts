/** Reads a request, completely or as far as its step says. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { JsonObject } from '../contract/index.ts';
import { verify } from '../webhook/signature.ts';

/** A received request, before its step is chosen. */
export interface IncomingRequest {
  /** Index among the requests. */
  readonly index: number;
  /** In milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly method: string;
  /** Path and query, as sent. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The bytes that were read; a part of the body if reading was stopped. */
  readonly body: Buffer;
  /**
   * Whether `X-Svc-Integrity` is the signature of `body` with one of the secrets; undefined if the receiver
   * has no secret, or stopped reading.
   */
  readonly signatureOk: boolean | undefined;
  /** The elements of the body; empty if it is not a JSON array of objects. */
  readonly messages: readonly JsonObject[];
  /** The id of each message: its `message_id`, or in format 1 its `id` or `event_id`. */
  readonly messageIds: readonly string[];
  /** The `retry_count` of each message that has one. */
  readonly retryCounts: readonly number[];
  /** Number of its connection, from 1. */
  readonly socketId: number;
}

export interface ReceivedBody {
  readonly body: Buffer;
  /** Whether the request was read to its end. */
  readonly isWhole: boolean;
}

/** Resolves to `undefined` if the sender disconnects. A negative `maxBytes` reads nothing. */
export function readUpTo(
  incoming: IncomingMessage,
  maxBytes: number,
): Promise<ReceivedBody | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (isWhole: boolean): void => {
      incoming.off('data', onData);
      incoming.pause();
      resolve({ body: Buffer.concat(chunks), isWhole });
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) finish(false);
    };
    incoming.on('error', () => {});
    incoming.once('close', () => resolve(undefined));
    incoming.once('end', () => finish(true));
    incoming.on('data', onData);
    if (maxBytes < 0) finish(false);
  });
}

/** Parses and verifies a request. */
export function describeRequest(
  { method = '', url: path = '', headers }: IncomingMessage,
  { body, isWhole }: ReceivedBody,
  secrets: readonly string[],
): Omit<IncomingRequest, 'index' | 'receivedAt' | 'socketId'> {
  const isVerifiable = isWhole && secrets.length > 0;
  const messages = parseMessages(body);
  return {
    method,
    path,
    headers,
    body,
    signatureOk: isVerifiable ? verify(body, headers['x-svc-integrity'], secrets) : undefined,
    messages,
    messageIds: messages.flatMap(idOf),
    retryCounts: messages
      .map((message) => message['retry_count'])
      .filter((count) => typeof count === 'number'),
  };
}

function parseMessages(body: Buffer): JsonObject[] {
  try {
    const value = JSON.parse(body.toString()) as unknown;
    return Array.isArray(value) && value.every(isObject) ? value : [];
  } catch {
    return [];
  }
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** In order of preference. Format 1 has no message_id. */
const ID_FIELDS = ['message_id', 'id', 'event_id'] as const;

function idOf(message: JsonObject): string[] {
  const id = ID_FIELDS.map((field) => message[field]).find((value) => typeof value === 'string');
  return id === undefined ? [] : [id];
}
