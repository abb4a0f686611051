/** The OpenAPI and AsyncAPI documents that the build writes. */
import { join } from 'node:path';
import { jsonSchemas } from './json-schemas.ts';
import { manifest, root } from './package-files.ts';

interface Schema {
  readonly properties?: object;
  readonly items?: object;
}

export interface ApiDocument {
  readonly file: string;
  readonly schema: Readonly<Record<string, unknown>> & {
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
}

const { apiDocuments } = (await import(
  /* @vite-ignore */ join(root, 'scripts/api-documents.mjs')
)) as {
  readonly apiDocuments: (files: readonly object[], version: string) => [ApiDocument, ApiDocument];
};

export const [openApi, asyncApi] = apiDocuments([...jsonSchemas()], manifest.version);
