/**
 * What every host adapter must do, against the real framework over real sockets. A host's own test
 * file gives a harness, and tests besides only what is peculiar to the host.
 */
import type { Server } from 'node:net';
import { describe, onTestFinished } from 'vitest';
import type { CaptureOptions } from '../../../src/capture/index.ts';
import { type Answer, type Asked, ask, type HostProtocol, originOf } from '../../helpers/hosts.ts';
import { blockLaws } from './host-laws/blocking.ts';
import { contentLaws } from './host-laws/content.ts';
import { contextLaws } from './host-laws/context.ts';
import { traceLaws } from './host-laws/traces.ts';

/** One request, as the suite's handlers see it; the harness makes it of what its host gives. */
export interface Exchange {
  /** The host's own request object, and Node's below it, where it is another. */
  readonly requests: readonly object[];
  /** Node's response, and what the host has in its place, if it has one by now. */
  readonly responses: readonly object[];
  readonly setHeader: (name: string, value: string) => void;
  /** Gives what the handler must give or wait for. */
  readonly answer: (status: number, body: string) => unknown;
  /** Sends the head and a first part of a body. Resolves when they are sent. */
  readonly begin: (status: number) => Promise<unknown>;
}

/** What the harness builds its host around. */
export interface Application {
  /** Every request ends here. The host's handler gives what this gives, and throws what it throws. */
  readonly serve: (exchange: Exchange) => unknown;
  /** Runs before, in middleware behind the adapter's; may throw. */
  readonly before?: (() => void) | undefined;
  /**
   * Called by an error handler of the application's own, where the docs of the adapter say that it
   * stands; answers 500 with `handled`.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface RunningHost {
  /** That listens on 127.0.0.1 already. */
  readonly server: Server;
  readonly close: () => unknown;
}

export interface HostHarness {
  readonly protocol: HostProtocol;
  /**
   * Starts a host with the adapter, or `bare` without it, all else the same. Its handler stands at
   * `/users/:id` and at every other path, for every method; where the host has parsers for forms and
   * JSON, they are in use. As in production, so that what the framework prints of errors is printed.
   */
  readonly start: (
    application: Application,
    options: CaptureOptions | undefined | 'bare',
  ) => Promise<RunningHost>;
  /** Whether `/users/7` has the parameter `id`. */
  readonly hasRouter: boolean;
  /** Whether bodies that the host has parsed are captured. */
  readonly hasBodies: boolean;
  /** Whether an async handler that fails leaves its request without an answer. */
  readonly ignoresRejections?: true;
  /** Whether Node's response is at hand, so that an answer can be begun and then broken off. */
  readonly canBreakOff: boolean;
}

export type Ask = (path: string, asked?: Asked) => Promise<Answer>;

export interface StartedHost {
  readonly ask: Ask;
  readonly server: Server;
}

/** Starts a host that lives as long as the test. */
export type StartHost = (
  application: Application | Application['serve'],
  options?: CaptureOptions | 'bare',
) => Promise<StartedHost>;

const starting =
  (harness: HostHarness): StartHost =>
  async (given, options) => {
    const application = typeof given === 'function' ? { serve: given } : given;
    const host = await harness.start(application, options);
    onTestFinished(async () => void (await host.close()));
    const origin = originOf(host.server, harness.protocol);
    return {
      server: host.server,
      ask: (path, asked) => ask(origin, path, harness.protocol, asked),
    };
  };

/** All laws, by what they are about. */
export function describeHost(name: string, harness: HostHarness): void {
  const start = starting(harness);
  describe(`${name}, as a host`, () => {
    describe('the context', () => {
      contextLaws(start);
    });
    describe('what is captured', () => {
      contentLaws(start, harness);
    });
    describe('a blocked request', () => {
      blockLaws(start, harness);
    });
    describe('a trace', () => {
      traceLaws(start);
    });
  });
}
