/**
 * RFC 4291 section 2.2 as a regular expression, for CIDRs and for the JSON Schemas. zod checks IPv6
 * addresses with the URL parser; its own pattern lacks the form with an IPv4 tail
 * (`::ffff:203.0.113.9`).
 */
const GROUP = '[0-9a-fA-F]{1,4}';
const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4_TAIL = `${OCTET}(?:\\.${OCTET}){3}`;

/** `::` after `before` groups; it replaces at least one of the eight groups. */
function compressed(before: number): string {
  const head = before === 0 ? '' : `${GROUP}(?::${GROUP}){${before - 1}}`;
  const tails = [
    ...(before <= 6 ? [`${GROUP}(?::${GROUP}){0,${6 - before}}`] : []),
    ...(before <= 5 ? [`(?:${GROUP}:){0,${5 - before}}${IPV4_TAIL}`] : []),
  ];
  return `${head}::${tails.length === 0 ? '' : `(?:${tails.join('|')})?`}`;
}

const ADDRESS = [
  `(?:${GROUP}:){7}${GROUP}`,
  `(?:${GROUP}:){6}${IPV4_TAIL}`,
  ...[0, 1, 2, 3, 4, 5, 6, 7].map(compressed),
].join('|');

export const IPV6_PATTERN = `^(?:${ADDRESS})$`;

export const CIDRV6_PATTERN = `^(?:${ADDRESS})/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])$`;
