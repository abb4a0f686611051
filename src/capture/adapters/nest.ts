/** `security-event-delivery/nest`: a module for NestJS 11, on Express and Fastify. */
import { Catch, Inject, Logger, Module } from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { check, object, type Rules } from '../../option-rules.ts';
import type { Reporter } from '../../reporter/reporter.ts';
import type { ReporterOptions } from '../../reporter/reporter-options.ts';
import type { CaptureOptions } from '../request/capture-options.ts';
import { RequestBlockedError } from '../request/request-blocked-error.ts';
import { currentScope } from '../request/request-scope.ts';
import { type NodeResponse, sendBlocked } from './blocked-response.ts';
import { captureRequests as captureOnExpress } from './express.ts';
import { captureRequests as captureOnFastify } from './fastify.ts';

/** Injects the application's reporter: `@Inject(REPORTER) reporter: Reporter`. */
export const REPORTER: unique symbol = Symbol('security-event-delivery reporter');
const OPTIONS = Symbol('security-event-delivery options');

export interface SecurityEventsOptions {
  /** Options of `createReporter`. Each application gets its own reporter. */
  readonly reporter: ReporterOptions;
  readonly capture?: CaptureOptions | undefined;
}

/** As in other modules of Nest: `inject` lists the arguments of `useFactory`, `imports` the modules that have them. */
export interface SecurityEventsAsyncOptions {
  readonly imports?: readonly unknown[];
  readonly inject?: readonly unknown[];
  readonly useFactory: (
    ...given: never[]
  ) => SecurityEventsOptions | PromiseLike<SecurityEventsOptions>;
}

/** The used part of Nest's `HttpAdapterHost`. */
export interface NestAdapterHost {
  readonly httpAdapter: { getType(): string; getInstance(): never } | null | undefined;
  readonly init$: { subscribe(listener: () => void): unknown };
}

interface HostApplication {
  register(plugin: typeof captureOnFastify, options: CaptureOptions): unknown;
  use(middleware: ReturnType<typeof captureOnExpress>): unknown;
}

/** The part of Nest's `DynamicModule` that users need. */
export interface NestDynamicModule {
  readonly module: typeof SecurityEventsModule;
}

interface ArgumentsHost {
  getType(): string;
  switchToHttp(): {
    getResponse(): NodeResponse | { readonly raw: object; send(error: Error): void };
  };
}

const RULES: Rules<keyof SecurityEventsOptions> = {
  reporter: object('the options of a reporter', () => true),
  capture: object('an object', () => true),
};

/** Answers requests that a guard, a pipe, an interceptor or a handler blocked. */
class BlockedFilter {
  catch(error: RequestBlockedError, host: ArgumentsHost): void {
    if (host.getType() !== 'http') return; // Nest then handles the error.
    const response = host.switchToHttp().getResponse();
    // On Fastify the plugin answers it.
    if ('raw' in response) response.send(error);
    else sendBlocked(error, response, currentScope());
  }
}

/**
 * Captures requests, answers blocked ones, and provides the application's reporter as `REPORTER` to all modules.
 * Delivers what it can at shutdown, and logs failures; this needs `app.enableShutdownHooks()`.
 */
export class SecurityEventsModule {
  readonly #reporter: Reporter;

  constructor(reporter: Reporter, options: SecurityEventsOptions, host: NestAdapterHost) {
    this.#reporter = reporter;
    // Modules are made before Nest adds its body parsers and routes: this runs before all of them.
    // In tests (`Test.createTestingModule`) they are made before the adapter.
    if (host.httpAdapter === undefined) host.init$.subscribe(() => capture(host, options.capture));
    else capture(host, options.capture);
  }

  /** `NestFactory.create` fails with `ERR_INVALID_OPTION` and the other errors of `createReporter`. */
  static forRoot(options: SecurityEventsOptions): NestDynamicModule {
    return dynamicModule({ useFactory: () => options });
  }

  /** Like `forRoot`, with options from other providers, such as Nest's `ConfigService`. */
  static forRootAsync(options: SecurityEventsAsyncOptions): NestDynamicModule {
    return dynamicModule(options);
  }

  async onApplicationShutdown(): Promise<void> {
    const { failures } = await this.#reporter.close();
    if (failures !== undefined) new Logger('SecurityEventsModule').error(failures);
  }
}

function capture({ httpAdapter }: NestAdapterHost, options: CaptureOptions = {}): void {
  if (!httpAdapter) return; // `NestFactory.createApplicationContext`: no requests
  const app: HostApplication = httpAdapter.getInstance();
  if (httpAdapter.getType() === 'fastify') app.register(captureOnFastify, options);
  else app.use(captureOnExpress(options));
}

async function makeReporter(given: unknown): Promise<Reporter> {
  const { reporter } = check<SecurityEventsOptions>(given, RULES);
  // Imported here: a static import would split the reporter from the package's main file.
  const { createReporter } = await import('../../index.ts');
  return createReporter(reporter as ReporterOptions);
}

function dynamicModule(options: SecurityEventsAsyncOptions): NestDynamicModule {
  const { imports = [], inject = [], useFactory } = options;
  const providers = [
    { provide: OPTIONS, inject, useFactory },
    { provide: REPORTER, inject: [OPTIONS], useFactory: makeReporter },
  ];
  const shared = { global: true, imports, providers, exports: [REPORTER] };
  return { module: SecurityEventsModule, ...shared };
}

// Without decorators, which Node cannot run.
Catch(RequestBlockedError)(BlockedFilter);
Module({ providers: [{ provide: APP_FILTER, useClass: BlockedFilter }] })(SecurityEventsModule);
for (const [index, token] of [REPORTER, OPTIONS, HttpAdapterHost].entries()) {
  Inject(token)(SecurityEventsModule, undefined, index);
}
