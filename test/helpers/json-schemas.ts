/** The JSON Schemas that the build writes. */
import { join } from 'node:path';
import * as contract from '../../src/contract/index.ts';
import { root } from './package-files.ts';

interface JsonSchemaFile {
  /** `<shape>.<dialect>.<reading>.json` */
  readonly file: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

const script = (await import(/* @vite-ignore */ join(root, 'scripts/json-schemas.mjs'))) as {
  readonly jsonSchemas: (module: object) => Iterable<JsonSchemaFile>;
};

export const jsonSchemas = (): Iterable<JsonSchemaFile> => script.jsonSchemas(contract);
