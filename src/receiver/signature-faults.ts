/** Known mistakes with signatures, and what to do about each. */

export const SIGNATURE_FAULTS = {
  'header-missing':
    'There is no X-Svc-Integrity header: the request is not from the sender, or something on the way took the header off.',
  'header-malformed':
    'The header is not 64 hex digits: something on the way changed it, or it is of another header.',
  'header-other-hash':
    'The header has the length of another hash than SHA-256: the sender signs with another algorithm.',
  'header-upper-case': 'The header is in upper case: compare it in lower case.',
  'header-prefix': 'The header has a prefix such as `sha256=`: compare what stands behind it.',
  'header-base64': 'The header is in base64: it must be 64 hex digits.',
  'header-whitespace': 'The header has whitespace around it: take it off.',
  'body-missing':
    'There is no body: something read it before. Verify before any body parser, or keep the raw bytes.',
  'body-parsed':
    'The body was parsed: what was signed are the bytes as they came in. Verify before any body parser, or keep the raw bytes.',
  'body-reserialised':
    'The body was parsed and serialised anew, in another spelling than it was sent. Verify the raw bytes.',
  'body-charset':
    'The body was decoded in another charset than UTF-8. Keep it as bytes, and decode it after verifying.',
  'body-byte-order-mark': 'A byte order mark was added to the body. Verify the raw bytes.',
  'body-line-end':
    'Line ends at the end of the body were added or taken off. Verify the raw bytes.',
  'body-base64':
    'The body is in base64, as some gateways hand it on. Decode it to bytes before verifying.',
  'body-json-text':
    'The body is a JSON text within a JSON string: it was serialised twice. Verify the raw bytes.',
  'body-compressed': 'The body is compressed: decompress it before verifying.',
  'body-changed':
    'The body is not what was sent: something read and wrote it anew, or the secret is another. Verify the raw bytes.',
  'secret-missing': 'The secret is empty: see where it is read from.',
  'secret-whitespace':
    'The secret has whitespace or a line end around it, as from a file or an environment variable: take it off.',
  'secret-quotes':
    'The secret has quotation marks around it, as from a settings file: take them off.',
  'secret-hex-decoded':
    'The secret was decoded from hex: it is used as text, so that its UTF-8 bytes are the key.',
  'secret-base64-decoded':
    'The secret was decoded from base64: it is used as text, so that its UTF-8 bytes are the key.',
  'secret-case': 'The secret is in another case than the one that signs.',
  'other-secret':
    'The body looks as it was sent, so the secret is another: that of another application or environment, or one before or after its rotation.',
} as const satisfies Record<string, string>;

export type SignatureFault = keyof typeof SIGNATURE_FAULTS;
