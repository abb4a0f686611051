/** Known mistakes with signatures, and what to do about each. */

export const SIGNATURE_FAULTS = {
  'header-missing':
    'The request has no X-Svc-Integrity header. Either another program sent it, or a proxy removed the header.',
  'header-malformed':
    'The header is not 64 hex digits. Either a proxy changed it, or you read another header.',
  'header-other-hash':
    'The header has the length of another hash than SHA-256. The sender uses another algorithm.',
  'header-upper-case': 'The header is in upper case. Convert it to lower case before you compare.',
  'header-prefix': 'The header has a prefix such as `sha256=`. Compare only the part after it.',
  'header-base64': 'The header is base64 instead of 64 hex digits.',
  'header-whitespace': 'The header has whitespace around it. Trim it.',
  'body-missing':
    'The body is empty, probably because a parser has read it. Verify before any body parser, or keep the raw bytes.',
  'body-parsed':
    'The body was parsed, but the signature is over the received bytes. Verify before any body parser, or keep the raw bytes.',
  'body-reserialised':
    'The body was parsed and serialised again, which changed its bytes. Verify the raw bytes.',
  'body-charset':
    'The body was decoded with another charset than UTF-8. Verify the bytes, and decode them afterwards.',
  'body-byte-order-mark': 'A byte order mark was added to the body. Verify the raw bytes.',
  'body-line-end': 'The line ends at the end of the body were changed. Verify the raw bytes.',
  'body-base64':
    'The body is base64, as some gateways pass it on. Decode it to bytes before you verify.',
  'body-json-text':
    'The body is JSON text inside a JSON string: it was serialised twice. Verify the raw bytes.',
  'body-compressed': 'The body is compressed. Decompress it before you verify.',
  'body-changed':
    'Either the body was changed after it was signed, or the secret is wrong. Verify the raw bytes.',
  'secret-missing': 'The secret is empty. Check where you read it from.',
  'secret-whitespace':
    'The secret of one end, sender or receiver, has whitespace or a line end around it, for example from a file or an environment variable. Trim it there.',
  'secret-quotes':
    'The secret of one end, sender or receiver, has quotation marks around it, for example from a settings file. Remove them there.',
  'secret-hex-decoded':
    'One end, sender or receiver, decoded the secret from hex. Use its text there: the key is the UTF-8 bytes of the text.',
  'secret-base64-decoded':
    'One end, sender or receiver, decoded the secret from base64. Use its text there: the key is the UTF-8 bytes of the text.',
  'secret-case': "The secret differs from the sender's in upper and lower case. Copy it again.",
  'other-secret':
    'The body seems unchanged, so the secret is wrong: it belongs to another application or environment, or was rotated.',
} as const satisfies Record<string, string>;

export type SignatureFault = keyof typeof SIGNATURE_FAULTS;
