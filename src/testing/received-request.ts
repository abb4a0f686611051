/** What came in over the wire, as it was read. */
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../contract/index.ts';
import { verify } from '../webhook/signature.ts';
import type { Reading } from './request-reading.ts';

/** A request before it is decided what is done to it. */
export interface IncomingRequest {
  /** How many requests were before it. */
  readonly index: number;
  /** In milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly method: string;
  /** Path and query, as sent. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The bytes that were read; not all that were sent where reading was broken off. */
  readonly body: Buffer;
  /**
   * Whether `X-Svc-Integrity` is the signature of `body` under one of the secrets; absent where the
   * receiver has no secret, and where it broke off reading.
   */
  readonly signatureOk: boolean | undefined;
  /** The elements of the body; empty where it is no JSON array of objects. */
  readonly messages: readonly JsonObject[];
  /** The id of each message: in format v1 that of the event, where there is no other. */
  readonly messageIds: readonly string[];
  /** The `retry_count` of each message that has one. */
  readonly retryCounts: readonly number[];
  /** Which connection it came over, from 1. */
  readonly socketId: number;
}

interface Body extends Reading {
  readonly secrets: readonly string[];
  readonly signature: unknown;
}

/** What the bytes of a request say. */
export function readBody({
  body,
  isWhole,
  secrets,
  signature,
}: Body): Pick<
  IncomingRequest,
  'body' | 'signatureOk' | 'messages' | 'messageIds' | 'retryCounts'
> {
  const isJudged = isWhole && secrets.length > 0;
  const messages = parseMessages(body);
  return {
    body,
    signatureOk: isJudged ? verify(body, signature, secrets) : undefined,
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

/** D21, D41 */
const ID_FIELDS = ['message_id', 'id', 'event_id'] as const;

function idOf(message: JsonObject): string[] {
  const id = ID_FIELDS.map((field) => message[field]).find((value) => typeof value === 'string');
  return id === undefined ? [] : [id];
}
