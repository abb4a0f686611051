/** A request of a framework that has Node's request beside what it has parsed. */
import { readProperty } from '../../own-properties.ts';
import type { HttpRequest } from '../request/http-request.ts';

/** Called whenever they are wanted: a parser or a router may have been at work since. */
interface Parsed {
  readonly body: () => unknown;
  readonly params: () => unknown;
}

/** Reads Node's request: getters of a framework's own keep what they have read. */
export class ParsedRequest implements HttpRequest {
  readonly #raw: HttpRequest;
  readonly #parsed: Parsed;

  constructor(raw: HttpRequest, parsed: Parsed) {
    this.#raw = raw;
    this.#parsed = parsed;
  }

  get headers(): HttpRequest['headers'] {
    return this.#raw.headers;
  }

  get socket(): HttpRequest['socket'] {
    return this.#raw.socket;
  }

  get method(): string | undefined {
    return this.#raw.method;
  }

  get url(): string | undefined {
    return this.#raw.url;
  }

  /** Before a rewrite of the URL. */
  get originalUrl(): string | undefined {
    return readProperty(this.#raw, 'originalUrl') as string | undefined;
  }

  get body(): unknown {
    return this.#parsed.body();
  }

  get params(): unknown {
    return this.#parsed.params();
  }
}
