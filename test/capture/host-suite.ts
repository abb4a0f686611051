/**
 * What every host adapter must do, against the real framework over real sockets. A host's own test
 * file gives a harness, and tests besides only what is peculiar to the host.
 */
import type { Server } from 'node:net';
import { describe, onTestFinished } from 'vitest';
import type { CaptureOptions } from '../../src/capture/index.ts';
import {
  type Answer,
  type Asked,
  ask,
  type HostProtocol,
  originOf,
} from '../helpers/host-client.ts';
import { blockLaws } from './host-laws/blocking.ts';
import { contextLaws } from './host-laws/context.ts';

/** One request, as the suite's handlers see it; the harness makes it of what its host gives. */
export interface Exchange {
  /** The host's own request object, and Node's below it, where it is another. */
  readonly requests: readonly object[];
  /** Node's response, or what the host has in its place: looked at for listeners alone. */
  readonly response: object;
  /** As the host's own parser left it; what it has cached, where there is no other way. */
  readonly body: () => unknown;
  setHeader(name: string, value: string): void;
  /** Gives what the handler must give or wait for. */
  answer(status: number, body: string): unknown;
  /** Sends the head and a first part of a body that never ends. Resolves when they are sent. */
  begin(status: number): Promise<unknown>;
}

/** What the harness builds its host around. */
export interface Application {
  /** Every request ends here. The host's handler gives what this gives, and throws what it throws. */
  readonly serve: (exchange: Exchange) => unknown;
  /** Runs before, in middleware behind the adapter's; may throw. */
  readonly before?: (() => void) | undefined;
  /**
   * Called by an error handler of the application's own, where the docs of the adapter say it should
   * stand; answers 500 with `handled`.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface RunningHost {
  /** That listens on 127.0.0.1 already. */
  readonly server: Server;
  close(): unknown;
}

export interface HostHarness {
  readonly protocol: HostProtocol;
  /**
   * Starts a host with the adapter, or `bare` without it, all else the same. Its handler stands at
   * `/users/:id` and at every other path; where the host has parsers for forms and JSON, they are
   * in use. Outside tests, so that errors are printed.
   */
  start(
    application: Application,
    options: CaptureOptions | undefined | 'bare',
  ): Promise<RunningHost>;
  /** Whether `/users/7` has the parameter `id`. */
  readonly hasRouter: boolean;
  /** Whether the host parses bodies, so that they are captured without further ado. */
  readonly hasBodies: boolean;
}

export type Ask = (path: string, asked?: Asked) => Promise<Answer>;

/** Starts a host that lives as long as the test. */
export type StartHost = (
  application: Application | Application['serve'],
  options?: CaptureOptions | 'bare',
) => Promise<{ readonly ask: Ask; readonly server: Server }>;

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

/** All laws, each a file of host-laws. */
export function describeHost(name: string, harness: HostHarness): void {
  const start = starting(harness);
  describe(name, () => {
    contextLaws(start, harness);
    blockLaws(start, harness);
  });
}
