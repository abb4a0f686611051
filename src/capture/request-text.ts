/** The texts of a request's head as the contract's `request` has them (D19). */
import { isIPv6 } from 'node:net';
import { cleanText, cutText } from './clean-text.ts';
import type { Redactor } from './redaction.ts';
import { readPort } from './request-like.ts';

/** In UTF-16 code units. */
const MAX_PATH_LENGTH = 2048;
const MAX_USER_AGENT_LENGTH = 512;
/** A name of the DNS has at most 253 characters. */
const MAX_HOST_LENGTH = 255;

/** Looked at behind a cut: a secret that the cut halves must still be known for one. */
const SECRET_WINDOW = 1024;

/** Cleaned, at most `length` UTF-16 code units, and without secrets where a redactor is given. */
function fitted(text: string, length: number, redactor: Redactor | undefined): string {
  const seen = cutText(text, length + SECRET_WINDOW);
  const clean = cleanText(seen);
  return cutText(redactor?.maskText(clean, seen.length < text.length) ?? clean, length);
}

/** `http://shop.example` of a request to a proxy, as RFC 9112 3.2.2 has it. */
const ORIGIN = /^[a-z][a-z0-9+.-]{0,15}:\/\/[^/?#]*/i;

/**
 * The path of a request target, without its query (D19), the fragment that some clients send, and
 * the origin of the absolute form: `/a/b`, `*` for `OPTIONS *`, `/` where there is none, `""` without
 * a target. Percent-encoding stays as it was sent. At most 2048 UTF-16 code units.
 */
export function pathOf(target: string | undefined, redactor?: Redactor): string {
  if (target === undefined || target === '') return '';
  const local = target.replace(ORIGIN, '');
  const end = local.search(/[?#]/);
  const path = end === -1 ? local : local.slice(0, end);
  return path === '' ? '/' : fitted(path, MAX_PATH_LENGTH, redactor);
}

/** The text behind the first `?` of a request target, the fragment left out; `""` for none. */
export function queryTextOf(target: string | undefined): string {
  const [beforeFragment = ''] = (target ?? '').split('#', 1);
  const start = beforeFragment.indexOf('?');
  return start === -1 ? '' : beforeFragment.slice(start + 1);
}

/** At most 512 UTF-16 code units; `""` without a header (D19). */
export function userAgentOf(header: string | undefined, redactor?: Redactor): string {
  return fitted(header ?? '', MAX_USER_AGENT_LENGTH, redactor);
}

export interface HostAndPort {
  /** Without brackets and port, in the case that was sent; `""` without a header (D19). */
  readonly host: string;
  /** `undefined` where the header names none. */
  readonly port: number | undefined;
}

const BRACKETED = /^\[([^\]]*)\](?::(.*))?$/s;

/**
 * Splits a `Host` header or `:authority`: `shop.example:8080`, `[2001:db8::1]:8080`, also an IPv6
 * address that stands without brackets. What is no port stays part of the host: an attacker wrote
 * it. At most 255 UTF-16 code units.
 */
export function splitHost(header: string | undefined): HostAndPort {
  const text = (header ?? '').trim();
  const { host, port } = isIPv6(text) ? { host: text, port: undefined } : parts(text);
  return { host: fitted(host, MAX_HOST_LENGTH, undefined), port };
}

function parts(text: string): HostAndPort {
  const bracketed = BRACKETED.exec(text);
  const colon = text.lastIndexOf(':');
  const host = bracketed?.[1] ?? text.slice(0, Math.max(0, colon));
  const digits = bracketed === null ? text.slice(colon + 1) : (bracketed[2] ?? '');
  const isSplit = bracketed === null ? colon !== -1 : isIPv6(host);
  if (!isSplit) return { host: text, port: undefined };
  // RFC 3986 3.2.3: the port may be empty.
  const port = digits === '' ? undefined : readPort(digits);
  if (digits !== '' && port === undefined) return { host: text, port };
  return { host, port };
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * The port that a request was sent to: the header's, or without one in it the scheme's. Without any
 * host (HTTP/1.0) the port of the listening socket says more.
 */
export function portOf(
  { host, port }: HostAndPort,
  scheme: string,
  localPort: number | undefined,
): number {
  const standard = DEFAULT_PORTS[scheme] ?? 80;
  return port ?? (host === '' ? (localPort ?? standard) : standard);
}
