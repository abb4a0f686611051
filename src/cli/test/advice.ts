/** What to look at where a test message was not taken, by status or by what ended the attempt. */
import type { FailureCode } from '../../index.ts';

interface StatusRow {
  readonly from: number;
  readonly to: number;
  readonly advice: string;
}

const LISTEN = 'security-events listen in the place of the receiver shows what comes in.';

/** The first row that holds the status counts. */
const BY_STATUS: readonly StatusRow[] = [
  {
    from: 300,
    to: 399,
    advice:
      'Redirects are not followed: give the URL that it leads to. Often https:// is meant, or a slash at the end.',
  },
  {
    from: 401,
    to: 401,
    advice: `The signature did not fit: is the secret the same at both ends, and is the raw body verified? ${LISTEN}`,
  },
  {
    from: 403,
    to: 403,
    advice: `Something refuses the request: the receiver for its signature, or a firewall before it. ${LISTEN}`,
  },
  {
    from: 404,
    to: 404,
    advice:
      'Nothing is at this path: compare it with the routes of the receiver. A slash at the end counts.',
  },
  {
    from: 405,
    to: 405,
    advice: 'The path takes no POST: compare it with the routes of the receiver.',
  },
  {
    from: 408,
    to: 408,
    advice: 'The receiver waited for more: it should read the body up to its Content-Length.',
  },
  {
    from: 410,
    to: 410,
    advice: 'The receiver says that it is gone for good: a sender stops after the second 410.',
  },
  { from: 413, to: 413, advice: 'The receiver takes very small bodies only: raise its limit.' },
  {
    from: 415,
    to: 415,
    advice: 'The receiver should take Content-Type: application/json.',
  },
  {
    from: 429,
    to: 429,
    advice: 'The receiver is asked too often: a sender waits as long as its Retry-After says.',
  },
  {
    from: 400,
    to: 499,
    advice:
      'The receiver could not use the request: it should take a JSON array, and pass over message types that it does not know, such as test. For one of the deprecated format there is --format 1.',
  },
  {
    from: 502,
    to: 504,
    advice:
      'A proxy before the receiver has no answer from it: is it running, and is it quick enough?',
  },
  { from: 500, to: 599, advice: 'The receiver failed: see its log.' },
];

/** The library's own sentence says what happened; this is what to do about it on a command line. */
const BY_FAILURE: Readonly<Record<FailureCode, string>> = {
  'address-refused':
    'Private addresses are taken with --network allow-private, which is the default.',
  dns: 'Is the name of the host spelled right, and known on this machine?',
  'connection-refused':
    'Nothing listens there: is the receiver running, and is the port right? security-events listen makes one.',
  'network-unreachable': 'There is no way from this machine to that address.',
  'connect-timeout': 'Nothing answers there: a firewall, or another address than you think?',
  tls: 'Does the port speak https at all? For a certificate of your own: NODE_EXTRA_CA_CERTS=ca.pem.',
  'headers-timeout':
    'The receiver should answer first and do its work afterwards; --deadline waits longer.',
  deadline: 'The receiver should answer first and do its work afterwards; --deadline waits longer.',
  'connection-reset':
    'The receiver closed the connection: see its log. A port of https takes no http://.',
  protocol: 'What answers is no HTTP: is the port right, and should the URL begin with https://?',
  aborted: 'It was interrupted.',
  'undici-missing': 'Install undici 7 beside this package.',
  network: 'The attempt failed on this machine.',
};

/** `undefined` where nothing is known about it. */
export function adviceFor(end: {
  readonly status?: number | undefined;
  readonly failure?: FailureCode | undefined;
}): string | undefined {
  const { status, failure } = end;
  if (failure !== undefined) return BY_FAILURE[failure];
  return BY_STATUS.find(({ from, to }) => status !== undefined && status >= from && status <= to)
    ?.advice;
}
