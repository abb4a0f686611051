/** Watches a JSON file of settings: reads it again when it has changed, and reports faults. */
import { resolve } from 'node:path';
import { SecurityEventError } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import { createYield, type YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { type CheckedApplications, FileSettings, readSync, readYielding } from './file-settings.ts';
import { secretAt } from './scheduled-secret.ts';
import type { OrganisedApplication } from './schema.ts';
import { publish } from './settings-events.ts';
import type { StoredApplication } from './stored-settings.ts';
import { readWhole, readWholeSync, signatureAt, type WholeFile } from './whole-file.ts';

export interface WatchOptions {
  readonly pollMs: number;
  readonly secretOf: ((applicationId: string) => string | Promise<string>) | undefined;
  readonly onFailed: ((error: SecurityEventError) => unknown) | undefined;
}

interface Fault {
  /** Equal for the same fault. */
  readonly key: string;
  readonly error: SecurityEventError;
}

export class WatchedSettings {
  /** The caller's path. */
  readonly #file: string;
  /** Absolute, since the process may change its working directory. */
  readonly #path: string;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #settings: FileSettings;
  readonly #yieldToEventLoop: YieldToEventLoop;
  #applications: CheckedApplications;
  #text: string;
  #signature: string;
  /** Whether two checks saw this signature: two writes within one tick of the file's clock look the same. */
  #isSettled = false;
  /** The fault of the text that was read last, which need not be validated again. */
  #unusable: Fault | undefined;
  #suspectKey: string | undefined;
  #reportedKey: string | undefined;
  #checking: Promise<unknown> = Promise.resolve();

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
      this.#applications = readSync(this.#settings.read(text, new Map()));
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
   * Polls instead of `fs.watch`, which misses changes on network file systems, swapped links in the path and
   * replaced files, and fails when the system has no watches left.
   */
  async watch(signal: AbortSignal): Promise<void> {
    const { pollMs } = this.#options;
    for (;;) {
      await this.#clock.idle(pollMs, signal);
      if (signal.aborted) return;
      const fault = await this.#check();
      // Editors write in pieces, or move the file away for a moment: reports a fault when it is seen twice.
      if (fault !== undefined && fault.key === this.#suspectKey) this.#report(fault);
      this.#suspectKey = fault?.key;
    }
  }

  async reload(): Promise<void> {
    const fault = await this.#check();
    if (fault === undefined) return;
    this.#report(fault);
    throw fault.error;
  }

  /** One at a time: an older check must not undo a newer one. */
  #check(): Promise<Fault | undefined> {
    const checked = this.#checking.then(() => this.#checkNow());
    this.#checking = checked;
    return checked;
  }

  async #checkNow(): Promise<Fault | undefined> {
    let seen: WholeFile;
    try {
      const isUnchanged = this.#isSettled && (await signatureAt(this.#path)) === this.#signature;
      if (isUnchanged) return this.#unusable;
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
    if (text === this.#text && this.#reportedKey === undefined) return undefined;
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
    const applications = await readYielding(reading, this.#yieldToEventLoop);
    this.#applications = applications;
    this.#text = text;
    this.#reportedKey = undefined;
    publish('settings-loaded', { file: this.#file, applicationCount: applications.size });
  }

  #report({ key, error }: Fault): void {
    if (this.#reportedKey === key) return;
    this.#reportedKey = key;
    const { code } = error;
    publish('settings-failed', { source: 'file', file: this.#file, code, isKept: true });
    try {
      ignoreRejection(this.#options.onFailed?.(error));
    } catch {
      // An error of the host's function must not stop the watch.
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

/** Other errors name the file and the reason, such as nesting that is too deep, but none of its content. */
const failureOf = (cause: unknown): SecurityEventError =>
  cause instanceof SecurityEventError
    ? cause
    : new SecurityEventError('ERR_SETTINGS_FAILED', {
        detail: 'the file could not be read',
        cause,
      });
