/** Writes a database in MaxMind's format (MaxMind DB File Format Specification 2.0), for IPv4 addresses. */
type Value = string | number | boolean | { readonly [key: string]: Value } | readonly Value[];

const STRING = 2;
const DOUBLE = 3;
const UINT32 = 6;
const MAP = 7;
const ARRAY = 11;
const BOOLEAN = 14;

/** Sizes below 29 fit into the control byte. Larger ones need one more byte. */
function control(type: number, size: number): Buffer {
  const low = size < 29 ? size : 29;
  const head = type < 8 ? [(type << 5) | low] : [low, type - 7];
  return Buffer.from(size < 29 ? head : [...head, size - 29]);
}

function encoded(value: Value): Buffer {
  if (typeof value === 'string') {
    const text = Buffer.from(value);
    return Buffer.concat([control(STRING, text.length), text]);
  }
  if (typeof value === 'boolean') return control(BOOLEAN, value ? 1 : 0);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return Buffer.concat([control(DOUBLE, 8), bytes]);
  }
  if (Array.isArray(value)) {
    return Buffer.concat([control(ARRAY, value.length), ...value.map(encoded)]);
  }
  const pairs = Object.entries(value);
  const content = pairs.flatMap(([key, element]) => [encoded(key), encoded(element)]);
  return Buffer.concat([control(MAP, pairs.length), ...content]);
}

function unsigned(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return Buffer.concat([control(UINT32, 4), bytes]);
}

type Node = [left: number | Node | undefined, right: number | Node | undefined];

const bitsOf = (address: string): number[] =>
  address
    .split('.')
    .flatMap((octet) => [7, 6, 5, 4, 3, 2, 1, 0].map((place) => (Number(octet) >> place) & 1));

/** Returns the bytes of a file with one entry per address. */
export function mmdb(entries: Readonly<Record<string, Value>>): Buffer {
  const root: Node = [undefined, undefined];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [address, value] of Object.entries(entries)) {
    const bits = bitsOf(address);
    let node = root;
    for (const bit of bits.slice(0, -1)) {
      const child = (node[bit] ?? [undefined, undefined]) as Node;
      node[bit] = child;
      node = child;
    }
    node[bits.at(-1) as 0 | 1] = offset;
    const bytes = encoded(value);
    data.push(bytes);
    offset += bytes.length;
  }
  const nodes: Node[] = [root];
  for (const node of nodes) nodes.push(...node.filter((child) => Array.isArray(child)));
  const record = (child: Node[0]): Buffer => {
    const bytes = Buffer.alloc(4);
    const none = nodes.length;
    if (Array.isArray(child)) bytes.writeUInt32BE(nodes.indexOf(child));
    else bytes.writeUInt32BE(child === undefined ? none : none + 16 + child);
    return bytes;
  };
  const metadata: readonly (readonly [string, Buffer])[] = [
    ['node_count', unsigned(nodes.length)],
    ['record_size', unsigned(32)],
    ['ip_version', unsigned(4)],
    ['database_type', encoded('Test')],
    ['languages', encoded(['en'])],
    ['binary_format_major_version', unsigned(2)],
    ['binary_format_minor_version', unsigned(0)],
    ['build_epoch', unsigned(1)],
    ['description', encoded({ en: 'test' })],
  ];
  return Buffer.concat([
    ...nodes.flatMap(([left, right]) => [record(left), record(right)]),
    Buffer.alloc(16),
    ...data,
    Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
    control(MAP, metadata.length),
    ...metadata.flatMap(([key, value]) => [encoded(key), value]),
  ]);
}
