/** A JSON file of settings: what was read last, looks at whether there is more, and what is told of it. */
import { resolve } from 'node:path';
import { SecurityEventError } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import { createYield, type YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import {
  type CheckedApplications,
  FileSettings,
  readInPieces,
  readToEnd,
} from './file-settings.ts';
import { secretAt } from './scheduled-secret.ts';
import type { OrganisedApplication } from './schema.ts';
import { tell } from './settings-events.ts';
import type { StoredApplication } from './stored-settings.ts';
import { readWhole, readWholeSync, signatureAt, type WholeFile } from './whole-file.ts';

export interface WatchOptions {
  readonly pollMs: number;
  readonly secretOf: ((applicationId: string) => string | Promise<string>) | undefined;
  readonly onFailed: ((error: SecurityEventError) => unknown) | undefined;
}

/** What is wrong with the file, and by which words it is the same fault as before. */
interface Fault {
  readonly key: string;
  readonly error: SecurityEventError;
}

export class WatchedSettings {
  /** As it was given. */
  readonly #file: string;
  /** The process may go to another folder later. */
  readonly #path: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #settings: FileSettings;
  readonly #yieldToEventLoop: YieldToEventLoop;
  #applications: CheckedApplications;
  #text: string;
  #signature: string;
  /** Seen at two looks: what is written within one tick of the file's clock shows at the second. */
  #isSettled = false;
  /** What the text that was read last came to, where it cannot be used: it is not checked again. */
  #unusable: Fault | undefined;
  #suspect: string | undefined;
  #told: string | undefined;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(file: string, options: WatchOptions, clock: Clock) {
    this.#file = file;
    this.#path = resolve(file);
    this.#options = options;
    this.#clock = clock;
    const secrets = options.secretOf === undefined ? 'here' : 'elsewhere';
    this.#settings = new FileSettings(secrets, (id, stored) => this.#secretFor(id, stored));
    this.#yieldToEventLoop = createYield(clock);
    try {
      const { text, signature } = readWholeSync(this.#path);
      this.#applications = readToEnd(this.#settings.read(text, new Map()));
      this.#text = text;
      this.#signature = signature;
    } catch (cause) {
      throw failureOf(cause);
    }
  }

  find(applicationId: string): OrganisedApplication | undefined {
    return this.#applications.get(applicationId)?.application;
  }

  /**
   * Looks, and not `fs.watch`: that says nothing on network file systems, nothing when a link further
   * up is swapped, loses a file that is replaced, and is refused where the system's watches are used up.
   */
  async watch(signal: AbortSignal): Promise<void> {
    const { pollMs } = this.#options;
    for (;;) {
      await this.#clock.idle(pollMs, signal);
      if (signal.aborted) return;
      const fault = await this.#look();
      // Editors write in pieces, or move the file away for a moment: what is wrong twice is wrong.
      if (fault !== undefined && fault.key === this.#suspect) this.#report(fault);
      this.#suspect = fault?.key;
    }
  }

  async reload(): Promise<void> {
    const fault = await this.#look();
    if (fault === undefined) return;
    this.#report(fault);
    throw fault.error;
  }

  /** One at a time, for an older look must not undo a newer one. */
  #look(): Promise<Fault | undefined> {
    const looked = this.#looking.then(() => this.#lookNow());
    this.#looking = looked;
    return looked;
  }

  async #lookNow(): Promise<Fault | undefined> {
    let seen: WholeFile;
    try {
      const isAsSeen = this.#isSettled && (await signatureAt(this.#path)) === this.#signature;
      if (isAsSeen) return this.#unusable;
      seen = await readWhole(this.#path);
    } catch (cause) {
      this.#isSettled = false;
      return { key: `unreadable: ${(cause as Error).message}`, error: failureOf(cause) };
    }
    this.#isSettled = seen.signature === this.#signature;
    this.#signature = seen.signature;
    this.#unusable = await this.#faultOf(seen.text);
    return this.#unusable;
  }

  async #faultOf(text: string): Promise<Fault | undefined> {
    if (text === this.#text && this.#told === undefined) return undefined;
    const key = `unusable: ${text}`;
    if (this.#unusable?.key === key) return this.#unusable;
    try {
      await this.#use(text);
      return undefined;
    } catch (error) {
      return { key, error: failureOf(error) };
    }
  }

  async #use(text: string): Promise<void> {
    const reading = this.#settings.read(text, this.#applications);
    const applications = await readInPieces(reading, this.#yieldToEventLoop);
    this.#applications = applications;
    this.#text = text;
    this.#told = undefined;
    tell('settings-loaded', { file: this.#file, applicationCount: applications.size });
  }

  #report({ key, error }: Fault): void {
    if (this.#told === key) return;
    this.#told = key;
    tell('settings-failed', { source: 'file', file: this.#file, code: error.code, isKept: true });
    try {
      ignoreRejection(this.#options.onFailed?.(error));
    } catch {
      // The host's own, and no part of reading settings.
    }
  }

  #secretFor(
    applicationId: string,
    { url, secret }: StoredApplication,
  ): OrganisedApplication['secret'] {
    const { secretOf } = this.#options;
    if (secret !== undefined) return () => secretAt(secret, this.#clock.now());
    return url === undefined || secretOf === undefined ? undefined : () => secretOf(applicationId);
  }
}

/**
 * What is not ours says which file and why, or that it is nested too deep, and nothing of what stands in
 * it.
 */
const failureOf = (cause: unknown): SecurityEventError =>
  cause instanceof SecurityEventError
    ? cause
    : new SecurityEventError('ERR_SETTINGS_FAILED', {
        detail: 'the file could not be read',
        cause,
      });
