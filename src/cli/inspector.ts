/** Serves the inspector's page and the stream of its entries, on loopback only. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { generateSecret, sign, verify } from '../index.ts';
import type { Entry } from './inspector/entries.ts';
import { type Forwarding, forward } from './listen/forward.ts';
import type { Delivery } from './listen/listener.ts';
import type { TerminalClock } from './terminal.ts';
import { durationText } from './values.ts';

const PATH = /^\/(_inspector)(?:\/([^/?]*)(?:\/([^?]*))?)?(?:\?|$)/;
const MAX_ENTRIES = 1000;
const MAX_BYTES = 32 * 1024 * 1024;

export interface PageHeading {
  /** The URL of the webhook endpoint, or the name of the file. */
  readonly source: string;
  /** Shown while there are no entries. */
  readonly hint: string;
}

export interface InspectorOptions {
  readonly clock: TerminalClock;
  /** Never sent to the page. */
  readonly secrets: readonly string[];
  /** The target to which requests can be sent again. */
  readonly forwarding?: Forwarding | undefined;
}

type SignedRequest = Pick<Delivery, 'headers' | 'body'>;

interface KeptEntry {
  readonly sequence: number;
  readonly json: Buffer;
  /** The request, if it can be sent again. */
  readonly request: SignedRequest | undefined;
}

const FILES = new Map([
  ['inspector.html', 'text/html; charset=utf-8'],
  ['inspector.css', 'text/css; charset=utf-8'],
  ['inspector.js', 'text/javascript; charset=utf-8'],
  ['inspector.svg', 'image/svg+xml'],
]);

// Trusted Types make the browser refuse any text that a script would parse as HTML.
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;

const LOOPBACK = /^(?:::1|(?:::ffff:)?127(?:\.\d+){3})$/;
/** Headers of proxies and tunnels, which reach this machine over loopback. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Another site's page sends another Host, even if its name resolves to this machine (DNS rebinding). */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const { remoteAddress = '', localPort } = socket;
  // Browsers leave out the default port.
  const port = localPort === 80 ? '' : `:${localPort}`;
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => name + port);
  return (
    LOOPBACK.test(remoteAddress) &&
    hosts.includes(headers.host ?? '') &&
    !PROXY_HEADERS.some((name) => headers[name] !== undefined)
  );
}

const MIN_SECRET_LENGTH = 8;
const NO_CURL =
  'The request contains the secret, which is hidden here. So it cannot be copied as curl.';

/** Hides secrets in requests. Ignores short ones, which could hide half a body. */
class SecretFilter {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
      .filter(({ length }) => length >= MIN_SECRET_LENGTH)
      .flatMap((secret) => [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encodeURIComponent(secret),
      ]);
  }

  hide(text: string): string {
    return this.#secrets.reduce((safe, secret) => safe.replaceAll(secret, '(secret)'), text);
  }

  /** Removes the curl command if it or the body contains a secret: hiding it would change the request. */
  withoutCurl(entry: Entry): Entry {
    const isText = entry.encoding === 'text';
    const text = isText ? entry.body : Buffer.from(entry.body, 'base64').toString('latin1');
    const isIn = (where: string): boolean => this.#secrets.some((secret) => where.includes(secret));
    const isHidden = isIn(text);
    if (!isHidden && !isIn(entry.curl)) return entry;
    const advice = [...entry.advice, NO_CURL];
    if (isText || !isHidden) return { ...entry, curl: '', advice };
    const body = '(hidden: it contains the secret)';
    return { ...entry, body, encoding: 'text', curl: '', advice };
  }
}

// Also correct in the bundle, whose files are as deep below the package as this one.
const pageFile = (name: string): Buffer =>
  readFileSync(new URL(`../../src/cli/inspector/page/${name}`, import.meta.url));

interface Page {
  /** Sends the kept entries that the page lacks, until its connection is full. */
  readonly pump: () => void;
  readonly clear: () => void;
}

export class Inspector {
  readonly #options: InspectorOptions;
  readonly #token = generateSecret().slice(0, 32);
  readonly #filter: SecretFilter;
  readonly #pages = new Set<Page>();
  #heading: PageHeading = { source: '', hint: '' };
  #kept: KeptEntry[] = [];
  #keptBytes = 0;
  #sequence = 0;

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#filter = new SecretFilter(options.secrets);
  }

  /** Sets the heading, and returns the page's address. Its token gives access to all entries. */
  publishAt(serverUrl: string, heading: PageHeading): string {
    this.#heading = heading;
    return new URL(`/_inspector/${this.#token}/`, serverUrl).href;
  }

  /** Keeps the entry and sends it to every open page. Drops the oldest beyond 1000 or 32 MiB. */
  add(entry: Entry, delivery?: Delivery): void {
    this.#sequence += 1;
    const isResendable =
      this.#options.forwarding !== undefined &&
      delivery !== undefined &&
      entry.verdict === 'verified';
    const json = JSON.stringify(
      { ...this.#filter.withoutCurl(entry), sequence: this.#sequence, isResendable },
      (_, value: unknown) => (typeof value === 'string' ? this.#filter.hide(value) : value),
    );
    const kept: KeptEntry = {
      sequence: this.#sequence,
      json: Buffer.from(json),
      request: isResendable ? { headers: delivery.headers, body: delivery.body } : undefined,
    };
    this.#kept.push(kept);
    this.#keptBytes += bytesOf(kept);
    while (this.#kept.length > MAX_ENTRIES || this.#keptBytes > MAX_BYTES) {
      this.#keptBytes -= bytesOf(this.#kept.shift() as KeptEntry);
    }
    for (const page of this.#pages) page.pump();
  }

  /** Forgets all entries, here and on every open page. */
  clear(): void {
    this.#kept = [];
    this.#keptBytes = 0;
    for (const page of this.#pages) page.clear();
  }

  /** Answers a request for the page. Returns false if it is for another path. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const [, isOurs, token = '', path] = PATH.exec(request.url ?? '') ?? [];
    if (isOurs === undefined) return false;
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    // `verify` compares in constant time.
    const isAllowed = verify(token, sign(this.#token, this.#token), this.#token);
    // Without a slash at the end, the page would not find its files.
    if (isAllowed && path !== undefined && isLocal(request)) this.#route(path, request, response);
    else answer(response, 404, 'Not found. Open the address that security-events printed.\n');
    return true;
  }

  #route(path: string, request: IncomingMessage, response: ServerResponse): void {
    const { method, headers } = request;
    request.resume();
    const type = FILES.get(path || 'inspector.html');
    if (method === 'POST' && headers.origin !== `http://${headers.host}`) {
      answer(response, 403, 'Wrong origin.\n');
    } else if (method === 'POST' && path === 'clear') {
      this.clear();
      answer(response, 204, '');
    } else if (method === 'POST' && path.startsWith('resend/')) {
      void this.#resend(Number(path.slice('resend/'.length)), response);
    } else if (method === 'GET' && path === 'events') {
      this.#stream(Number(headers['last-event-id'] ?? 0), response);
    } else if (method === 'GET' && type !== undefined) {
      response.setHeader('content-type', type);
      response.end(pageFile(path || 'inspector.html'));
    } else answer(response, 404, 'Not found.\n');
  }

  async #resend(sequence: number, response: ServerResponse): Promise<void> {
    const { forwarding, clock } = this.#options;
    const request = this.#kept.find((kept) => kept.sequence === sequence)?.request;
    if (request === undefined || forwarding === undefined) {
      answer(response, 404, 'The request is no longer kept.');
      return;
    }
    const startedMs = clock.monotonicMs();
    const { answer: forwarded, failure } = await forward(request, forwarding);
    const time = durationText(Math.round(clock.monotonicMs() - startedMs));
    const text = failure === undefined ? `answered ${forwarded.status} after ${time}` : failure;
    answer(response, 200, `${forwarding.to.host}: ${text}.`);
  }

  /** Sends the kept entries in order. Each page reads at its own pace, so nothing piles up in memory. */
  #stream(lastSequence: number, response: ServerResponse): void {
    let sent = Number.isSafeInteger(lastSequence) ? lastSequence : 0;
    response.setHeader('content-type', 'text/event-stream');
    response.write(`retry: 500\nevent: heading\ndata: ${JSON.stringify(this.#heading)}\n\n`);
    const pump = (): void => {
      const first = this.#kept[0]?.sequence ?? 0;
      for (let at = Math.max(0, sent + 1 - first); !response.writableNeedDrain; at += 1) {
        const next = this.#kept[at];
        if (next === undefined) return;
        sent = next.sequence;
        response.write(
          Buffer.concat([Buffer.from(`id: ${sent}\ndata: `), next.json, Buffer.from('\n\n')]),
        );
      }
    };
    const page = { pump, clear: () => void response.write('event: clear\ndata:\n\n') };
    this.#pages.add(page);
    response.on('drain', pump);
    response.on('close', () => this.#pages.delete(page));
    pump();
  }
}

const bytesOf = ({ json, request }: KeptEntry): number => json.length + (request?.body.length ?? 0);

function answer(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(text);
}
