/** Where an application's requests go, as its settings say at the moment. */

import { hash } from 'node:crypto';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import { type TimeLimit, withTimeout } from '../runtime/timers.ts';
import type { ResolvedApplication, SettingsReader } from '../settings/source.ts';
import type { PostRequest } from '../webhook/http/client.ts';
import { type NetworkPolicy, refuseLiteralAddress } from '../webhook/http/ssrf-guard.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import { checkSecret } from '../webhook/signature.ts';

/** Where requests go. */
export interface Target {
  readonly url: URL;
  readonly secret: string;
  /** Given always: an attack on Object.prototype must not become credentials. */
  readonly tls: PostRequest['tls'];
}

/** Where one application's requests go. */
export interface Destination extends Target {
  /** Tells its URL from another one. The URL itself is not stored: it may have a token in it. */
  readonly urlHash: string;
  /** Whether it has an address that the network policy refuses: nothing is sent there (D82). */
  readonly isRefused: boolean;
  /** Whose it is. */
  readonly application: ResolvedApplication;
}

/** Why there is none: nothing was found, it cannot be used, its address is refused, or asking for it failed. */
export type MissingDestination = 'unknown' | 'unusable' | 'refused' | 'failed';

export interface DestinationParts extends Omit<TimeLimit, 'ms'> {
  readonly find: SettingsReader['find'];
  readonly network: NetworkPolicy;
}

/** Asks the settings. What they are is not the sender's fault, and may be mended: nothing is thrown (D72, D82). */
export class Destinations {
  readonly #parts: DestinationParts;
  /** Of settings that keep their objects, each is read once. */
  readonly #known = new WeakMap<ResolvedApplication, Destination | MissingDestination>();

  constructor(parts: DestinationParts) {
    this.#parts = parts;
  }

  /** Gives the destination at once where the settings are an object; asks the host, at most for 10 s, where not. */
  resolve(
    applicationId: string,
  ): Destination | MissingDestination | Promise<Destination | MissingDestination> {
    const found = this.#parts.find(applicationId);
    if (!isPromiseLike(found)) {
      if (found === undefined) return 'unknown';
      if (typeof found.secret !== 'function') return this.#read(found);
    }
    return this.#asked(found);
  }

  async #asked(
    found: ReturnType<SettingsReader['find']>,
  ): Promise<Destination | MissingDestination> {
    const answer = await withTimeout(this.#ask(found), this.#parts);
    return answer?.value ?? 'failed';
  }

  async #ask(found: ReturnType<SettingsReader['find']>): Promise<Destination | MissingDestination> {
    try {
      const application = await found;
      if (application === undefined) return 'unknown';
      const { secret } = application;
      if (typeof secret !== 'function') return this.#read(application);
      return this.#destinationOf(application, await secret());
    } catch {
      return 'failed';
    }
  }

  #read(application: ResolvedApplication): Destination | MissingDestination {
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
  ): Destination | MissingDestination {
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
