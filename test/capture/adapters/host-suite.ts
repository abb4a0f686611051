/**
 * What every host adapter must do, in the real framework over real sockets. A host's test file passes
 * its harness, and itself tests only what is special about the host.
 */
import type { Server } from 'node:net';
import { describe } from 'vitest';
import type { CaptureOptions } from '../../../src/capture/index.ts';
import { type Answer, type Asked, ask, type HostProtocol, originOf } from '../../helpers/hosts.ts';
import { blockLaws } from './host-laws/blocking.ts';
import { contentLaws } from './host-laws/content.ts';
import { contextLaws } from './host-laws/context.ts';
import { traceLaws } from './host-laws/traces.ts';

/** One request, as the suite's handlers see it; the harness makes it from the host's objects. */
export interface Exchange {
  /** The host's own request object, and Node's below it, where it is another. */
  readonly requests: readonly object[];
  /** Node's response and the host's own, if there is one already. */
  readonly responses: readonly object[];
  readonly setHeader: (name: string, value: string) => void;
  /** Returns what the handler must return or await. */
  readonly answer: (status: number, body: string) => unknown;
  /** Sends the head and a first part of a body. Resolves when they are sent. */
  readonly begin: (status: number) => Promise<unknown>;
}

/** The functions that the harness puts into its host. */
export interface Application {
  /** Handles every request. The host's handler returns or throws what this does. */
  readonly serve: (exchange: Exchange) => unknown;
  /** Runs before `serve`, in middleware after the adapter's; may throw. */
  readonly before?: (() => void) | undefined;
  /**
   * Called by the application's own error handler, placed as the docs of the adapter say; it answers
   * 500 with `handled`.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface HostHarness {
  readonly protocol: HostProtocol;
  /**
   * Starts a host with the adapter, or `bare` without it. Its handler serves `/users/:id` and every
   * other path, for every method. It uses the host's parsers for forms and JSON, and production mode,
   * in which frameworks print errors. Returns its server, which listens on 127.0.0.1 until the test ends.
   */
  readonly start: (
    application: Application,
    options: CaptureOptions | undefined | 'bare',
  ) => Promise<Server>;
  /** Whether `/users/7` has the parameter `id`. */
  readonly hasRouter: boolean;
  /** Whether bodies that the host has parsed are captured. */
  readonly hasBodies: boolean;
  /** Whether an async handler that fails leaves its request without an answer. */
  readonly ignoresRejections?: true;
  /** Whether Node's response is accessible, so that a test can begin and abort an answer. */
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
    const server = await harness.start(application, options);
    const origin = originOf(server, harness.protocol);
    return { server, ask: (path, asked) => ask(origin, path, harness.protocol, asked) };
  };

/** Runs all laws. */
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
