/** Resolves an application to its destination: the URL and secret that its settings have now. */
import { hash } from 'node:crypto';
import { SecurityEventError } from '../errors.ts';
import { isPromiseLike } from '../runtime/host-calls.ts';
import { type TimeLimit, withTimeout } from '../runtime/timers.ts';
import type { ResolvedApplication, SettingsReader } from '../settings/source.ts';
import type { PostRequest } from '../webhook/http/client.ts';
import { checkLiteralAddress, type NetworkPolicy } from '../webhook/http/ssrf-guard.ts';
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

/** Why nothing can be sent to an application. */
export type MissingDestination = 'unknown' | 'unusable' | 'disabled' | 'failed' | 'refused';

/** An application without a destination: no settings, unusable or disabled ones, or the host failed to supply them. */
export interface Unresolved {
  readonly because: Exclude<MissingDestination, 'refused'>;
  /** What is unusable. */
  readonly detail?: string;
}

type Resolution = Destination | Unresolved;

export const isUnresolved = (found: Resolution): found is Unresolved =>
  Object.hasOwn(found, 'because');

const UNKNOWN: Unresolved = { because: 'unknown' };
const DISABLED: Unresolved = { because: 'disabled' };
const FAILED: Unresolved = { because: 'failed' };

export interface DestinationParts extends Omit<TimeLimit, 'ms'> {
  readonly find: SettingsReader['find'];
  readonly network: NetworkPolicy;
  /** Whether a function returns the settings, usually as a new object each time. */
  readonly isSettingsFunction: boolean;
}

/** Never throws for bad settings: they may be corrected while messages wait (D72, D82). */
export class Destinations {
  readonly #parts: DestinationParts;
  /**
   * Settings that were read before, so that each object is read once. Not those of functions: V8 would keep all of them
   * until the next full collection.
   */
  readonly #known = new WeakMap<ResolvedApplication, Resolution>();

  constructor(parts: DestinationParts) {
    this.#parts = parts;
  }

  /** Returns the destination; a promise if the settings or the secret are a function, which may take at most 10 s. */
  resolve(applicationId: string): Resolution | Promise<Resolution> {
    const found = this.#parts.find(applicationId);
    const resolved = isPromiseLike(found)
      ? found.then((application) => this.#resolveApplication(application))
      : this.#resolveApplication(found);
    return isPromiseLike(resolved) ? this.#inTime(resolved) : resolved;
  }

  #resolveApplication(
    application: ResolvedApplication | undefined,
  ): Resolution | Promise<Resolution> {
    if (application === undefined) return UNKNOWN;
    if (application.enabled === false) return DISABLED;
    const { secret } = application;
    if (typeof secret === 'function') return this.#askSecret(application, secret);
    const known = this.#known.get(application);
    if (known !== undefined) return known;
    const resolved = this.#destinationOf(application, secret);
    if (!this.#parts.isSettingsFunction) this.#known.set(application, resolved);
    return resolved;
  }

  async #askSecret(
    application: ResolvedApplication,
    secret: () => string | Promise<string>,
  ): Promise<Resolution> {
    return this.#destinationOf(application, await secret());
  }

  async #inTime(resolved: Promise<Resolution>): Promise<Resolution> {
    const answer = await withTimeout(resolved.catch(unresolvedBy), this.#parts);
    return answer?.value ?? FAILED;
  }

  #destinationOf(application: ResolvedApplication, secret: string | undefined): Resolution {
    if (application.url === undefined || secret === undefined) return UNKNOWN;
    const { tls } = application;
    try {
      const url = parseWebhookUrl(application.url);
      const isRefused = this.#isRefused(url);
      const urlHash = hashOfUrl(url);
      return { url, secret: checkSecret(secret), tls, application, urlHash, isRefused };
    } catch (error) {
      return unresolvedBy(error);
    }
  }

  #isRefused(url: URL): boolean {
    try {
      checkLiteralAddress(url, this.#parts.network);
      return false;
    } catch {
      return true;
    }
  }
}

/** Tells unusable settings from a failing host. Only messages of this library's errors contain no secrets and URLs. */
function unresolvedBy(error: unknown): Unresolved {
  const isOurs = error instanceof SecurityEventError && error.code !== 'ERR_SETTINGS_FAILED';
  return isOurs ? { because: 'unusable', detail: error.message } : FAILED;
}

export function hashOfUrl(url: URL): string {
  return hash('sha256', url.href);
}
