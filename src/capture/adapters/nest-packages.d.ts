/** The used part of Nest 11. Its packages are not installed here; test/recipes.integration.test.ts checks against them. */

declare module '@nestjs/common' {
  type ClassDecorator = (target: object) => void;

  export const Catch: (exception: object) => ClassDecorator;
  export const Module: (metadata: { readonly providers: object[] }) => ClassDecorator;
  export const Inject: (token: unknown) => (target: object, key: undefined, index: number) => void;
  export class Logger {
    constructor(name: string);
    error(message: unknown): void;
  }
}

declare module '@nestjs/core' {
  export const APP_FILTER: string;
  export const HttpAdapterHost: unknown;
}
