/**
 * Spellings of addresses that the network guard must recognise. `PORT` is the receiver's port.
 */

/** Answers of the stub resolver. The system resolves other names. */
export const NAMES: Readonly<Record<string, readonly string[]>> = {
  'inside.test': ['127.0.0.1'],
  'inside.test.': ['127.0.0.1'],
  'localhost.': ['127.0.0.1'],
  'mapped-hex.test': ['::ffff:7f00:1'],
  'two.test': ['127.0.0.1', '::ffff:127.0.0.1'],
  'xn--bcher-kva.test': ['127.0.0.1'],
  'loopback-v6.test': ['::1'],
  'translated.test': ['64:ff9b::127.0.0.1'],
  'zone.test': ['fe80::1%lo'],
  'octal.test': ['0177.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'mixed-first.test': ['127.0.0.1', '93.184.216.34'],
  'mixed-last.test': ['93.184.216.34', '127.0.0.1'],
  'mixed-families.test': ['2606:2800:21f::1', '127.0.0.1'],
  'mixed-mapped.test': ['93.184.216.34', '::ffff:10.0.0.1'],
};

/** Spellings of 127.0.0.1, which reach the receiver if the policy allows it. */
export const CANARY_SPELLINGS: readonly string[] = [
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f.1:PORT/',
  'http://0177.0x0.00.1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127%2E0%2E0%2E1:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127.0.0\u200b.1:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://93.184.216.34@127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  'http://inside.test:PORT/',
  'http://INSIDE.test.:PORT/',
  'http://mapped-hex.test:PORT/',
  'http://two.test:PORT/',
  'http://bücher.test:PORT/',
];

/** Spellings, and the rule that refuses them under 'public'. */
export const REFUSED_SPELLINGS: readonly (readonly [spelling: string, rule: string])[] = [
  ['http://[::1]:PORT/', 'loopback'],
  ['http://[64:ff9b::7f00:1]:PORT/', 'loopback'],
  ['http://loopback-v6.test:PORT/', 'loopback'],
  ['http://translated.test:PORT/', 'loopback'],
  ['http://0:PORT/', 'unspecified'],
  ['http://[::127.0.0.1]:PORT/', 'reserved'],
  ['http://4294967295:PORT/', 'reserved'],
  ['http://[fe80::1]:PORT/', 'link-local'],
  ['http://zone.test:PORT/', 'link-local'],
  ['http://0xa000001:PORT/', 'private'],
  ['http://[::ffff:10.0.0.1]:PORT/', 'private'],
  ['http://octal.test:PORT/', 'not-an-address'],
  ['http://mixed-first.test:PORT/', 'loopback'],
  ['http://mixed-last.test:PORT/', 'loopback'],
  ['http://mixed-families.test:PORT/', 'loopback'],
  ['http://mixed-mapped.test:PORT/', 'private'],
];

/** Refused under every policy except 'delegated'. */
export const METADATA_SPELLINGS: readonly string[] = [
  'http://169.254.169.254/latest/meta-data/',
  'http://0xa9fea9fe/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://metadata.test/computeMetadata/v1/',
  'https://[fd00:ec2::254]/',
];

/** The URL parser rejects these, so nothing is looked up. */
export const INVALID_URLS: readonly string[] = [
  'http://127.0.0.1%lo:PORT/',
  'http://127.0.0.256:PORT/',
  'http://[127.0.0.1]:PORT/',
  'http://127.0.0.1:99999/',
];
