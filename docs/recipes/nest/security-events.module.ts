import {
  type ArgumentsHost,
  Catch,
  type DynamicModule,
  type ExceptionFilter,
  Inject,
  Logger,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { createReporter, type ReporterOptions } from 'security-event-delivery';
import { type CaptureOptions, RequestBlockedError } from 'security-event-delivery/capture';
import * as express from 'security-event-delivery/express';
import * as fastify from 'security-event-delivery/fastify';

/** Injects the reporter: `@Inject(REPORTER) reporter: Reporter`. */
export const REPORTER = Symbol('reporter');
const CAPTURE_OPTIONS = Symbol('capture options');

export interface SecurityEventsOptions {
  reporter: ReporterOptions;
  capture?: CaptureOptions;
}

/** Answers requests that a guard, a pipe, an interceptor or a handler blocked. */
@Catch(RequestBlockedError)
class BlockedFilter implements ExceptionFilter {
  catch({ status }: RequestBlockedError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse();
    response.status(status).type('text/plain').send('Forbidden');
  }
}

/** Captures requests on Express and Fastify, and has one reporter for the application. */
@Module({ providers: [{ provide: APP_FILTER, useClass: BlockedFilter }] })
export class SecurityEventsModule implements OnApplicationShutdown {
  static forRoot({ reporter, capture = {} }: SecurityEventsOptions): DynamicModule {
    return {
      module: SecurityEventsModule,
      global: true,
      providers: [
        { provide: REPORTER, useFactory: () => createReporter(reporter) },
        { provide: CAPTURE_OPTIONS, useValue: capture },
      ],
      exports: [REPORTER],
    };
  }

  constructor(
    @Inject(REPORTER) private readonly reporter: ReturnType<typeof createReporter>,
    @Inject(CAPTURE_OPTIONS) private readonly capture: CaptureOptions,
    @Inject(HttpAdapterHost) host: HttpAdapterHost,
  ) {
    // Modules are made before Nest adds its body parsers and routes: this runs before all of them.
    // In tests (`Test.createTestingModule`) they are made before the adapter.
    if (host.httpAdapter === undefined) host.init$.subscribe(() => this.captureRequests(host));
    else this.captureRequests(host);
  }

  private captureRequests({ httpAdapter }: HttpAdapterHost): void {
    if (httpAdapter === null) return; // `NestFactory.createApplicationContext`: no requests
    const app = httpAdapter.getInstance();
    if (httpAdapter.getType() === 'fastify') app.register(fastify.captureRequests, this.capture);
    else app.use(express.captureRequests(this.capture));
  }

  /** Delivers what it can. Needs `app.enableShutdownHooks()`. */
  async onApplicationShutdown(): Promise<void> {
    const { failures } = await this.reporter.close();
    if (failures !== undefined) new Logger(SecurityEventsModule.name).error(failures);
  }
}
