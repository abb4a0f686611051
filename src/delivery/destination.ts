/** Resolves an application to its destination: the URL and secret that its settings have now. */
import { hash } from 'node:crypto';
import { isPromiseLike } from '../runtime/host-calls.ts';
import { type TimeLimit, withTimeout } from '../runtime/timers.ts';
import type { ResolvedApplication, SettingsReader } from '../settings/source.ts';
import type { PostRequest } from '../webhook/http/client.ts';
import { type NetworkPolicy, refuseLiteralAddress } from '../webhook/http/ssrf-guard.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import { checkSecret } from '../webhook/signature.ts';

/** Where requests go, and how they are signed and secured. */
export interface Endpoint {
  readonly url: URL;
  readonly secret: string;
  /** Required, so that a polluted Object.prototype cannot supply credentials. */
  readonly tls: PostRequest['tls'];
}

/** The destination of an application. */
export interface Destination extends Endpoint {
  /** Identifies the URL. The URL itself is not stored, since it may contain a token. */
  readonly urlHash: string;
  /** Whether the network policy refuses its address: then nothing is sent (D82). */
  readonly isRefused: boolean;
  readonly application: ResolvedApplication;
}

/** Why an application has no destination: no settings, unusable or disabled ones, or the host failed to supply them. */
export type Unresolved = 'unknown' | 'unusable' | 'disabled' | 'failed';

/** Why nothing can be sent to an application: also because the network policy refuses its address. */
export type MissingDestination = Unresolved | 'refused';

export interface DestinationParts extends Omit<TimeLimit, 'ms'> {
  readonly find: SettingsReader['find'];
  readonly network: NetworkPolicy;
}

/** Never throws for bad settings: they may be corrected while messages wait (D72, D82). */
export class Destinations {
  readonly #parts: DestinationParts;
  /** Settings objects that were read before, so that each is read once. */
  readonly #known = new WeakMap<ResolvedApplication, Destination | Unresolved>();

  constructor(parts: DestinationParts) {
    this.#parts = parts;
  }

  /** Returns the destination; a promise if the settings or the secret are a function, which may take at most 10 s. */
  resolve(applicationId: string): Destination | Unresolved | Promise<Destination | Unresolved> {
    const found = this.#parts.find(applicationId);
    if (!isPromiseLike(found)) {
      if (found === undefined) return 'unknown';
      if (found.enabled === false) return 'disabled';
      if (typeof found.secret !== 'function') return this.#read(found);
    }
    return this.#askInTime(found);
  }

  async #askInTime(found: ReturnType<SettingsReader['find']>): Promise<Destination | Unresolved> {
    const answer = await withTimeout(this.#ask(found), this.#parts);
    return answer?.value ?? 'failed';
  }

  async #ask(found: ReturnType<SettingsReader['find']>): Promise<Destination | Unresolved> {
    try {
      const application = await found;
      if (application === undefined) return 'unknown';
      if (application.enabled === false) return 'disabled';
      const { secret } = application;
      if (typeof secret !== 'function') return this.#read(application);
      return this.#destinationOf(application, await secret());
    } catch {
      return 'failed';
    }
  }

  #read(application: ResolvedApplication): Destination | Unresolved {
    let known = this.#known.get(application);
    if (known === undefined) {
      known = this.#destinationOf(application, application.secret as string | undefined);
      this.#known.set(application, known);
    }
    return known;
  }

  #destinationOf(
    application: ResolvedApplication,
    secret: string | undefined,
  ): Destination | Unresolved {
    if (application.url === undefined || secret === undefined) return 'unknown';
    const { tls } = application;
    try {
      const url = parseWebhookUrl(application.url);
      const isRefused = this.#isRefused(url);
      const urlHash = hashOfUrl(url);
      return { url, secret: checkSecret(secret), tls, application, urlHash, isRefused };
    } catch {
      return 'unusable';
    }
  }

  #isRefused(url: URL): boolean {
    try {
      refuseLiteralAddress(url, this.#parts.network);
      return false;
    } catch {
      return true;
    }
  }
}

/** Returns the hash of a URL. */
export function hashOfUrl(url: URL): string {
  return hash('sha256', url.href);
}
