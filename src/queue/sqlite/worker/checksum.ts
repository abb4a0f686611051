import { crc32 } from 'node:zlib';

/** What never changes of a message while it waits or is a dead letter. */
export interface MessageFacts {
  readonly application: number;
  readonly messageId: string;
  readonly format: number;
  readonly dateAt: number;
  readonly countAt: number;
  readonly sizeBytes: number;
}

export function bodyChecksum(facts: MessageFacts, body: Uint8Array): number {
  const { application, messageId, format, dateAt, countAt, sizeBytes } = facts;
  const text = `${application} ${format} ${dateAt} ${countAt} ${sizeBytes} ${messageId}`;
  const start = crc32(text);
  // An empty blob of the peer has no memory, for which zlib forgets the start.
  return body.length === 0 ? start : crc32(body, start);
}

/** What a retry or an expired lease changes. */
export interface MessageProgress {
  readonly sequence: number;
  readonly due: number;
  readonly accepted: number;
  readonly sends: number;
  readonly max_messages: number | null;
  readonly progress: string | null;
}

export const progressChecksum = (row: MessageProgress): number =>
  crc32(
    `${row.sequence} ${row.due} ${row.accepted} ${row.sends} ${row.max_messages} ${row.progress}`,
  );
