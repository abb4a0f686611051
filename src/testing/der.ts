/** The parts of DER (ITU-T X.690) that a certificate needs. */

/** Tags of X.690 section 8; `context…` are RFC 5280's own fields. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  context0: 0xa0,
  context3: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

/** One element: tag, length, content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(length), ...content]);
}

export const sequence = (...content: readonly Uint8Array[]): Buffer =>
  der(TAG.sequence, ...content);

/** A positive integer, whose first byte must be between 1 and 0x7f. */
export const integer = (bytes: Uint8Array): Buffer => der(TAG.integer, bytes);

/** Without unused bits. */
export const bitString = (bytes: Uint8Array): Buffer => der(TAG.bitString, Buffer.from([0]), bytes);

/** `1.2.840.10045.4.3.2`; X.690 section 8.19. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(TAG.objectId, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** UTCTime has two digits for the year, and ends before 2050 (RFC 5280 section 4.1.2.5). */
export function time(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replace(/\.\d+|[-:T]/g, '');
  return digits < '2050'
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(digits));
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 + bytes.length, ...bytes]);
}

function base128(number: number): number[] {
  const bytes = [number & 0x7f];
  for (let rest = number >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
