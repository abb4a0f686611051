/**
 * Declarations of consumers (`declaration: true`) that use our types: each export under another name, and the results
 * of our functions. With npm and with pnpm, whose packages see only their own dependencies, and with the oldest and
 * newest supported TypeScript.
 */
import { cpSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Consumer } from '../helpers/consumer.ts';
import { entries, importableEntries, manifest, root } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const { name } = manifest;

/** Results of functions whose types have parts that only our own declarations name. */
const RESULTS = `
  import { captureRequests as express, answerBlocked } from '${name}/express';
  import { captureRequests as node } from '${name}/node-http';
  import { captureRequests as hono } from '${name}/hono';
  import { captureRequests as koa } from '${name}/koa';
  import { captureRequests as lambda } from '${name}/lambda';
  import { REPORTER, SecurityEventsModule } from '${name}/nest';
  import { registerMetrics } from '${name}/otel';
  import { createRequestCapture, createEnrichment, currentContext, describeAddress,
    explainClientAddress, networkListEnricher } from '${name}/capture';
  import { createMemoryDuplicates, createWebhookReceiver, explainSignature, expressHandler,
    fastifyPlugin, fetchHandler, nodeHandler, parseBody } from '${name}/receiver';
  import { createLogWriter, createReporter, createWebhookSender, sendWebhook } from '${name}';
  import { LogRecord, parseLogLine } from '${name}/contract';
  export const adapters = [express(), answerBlocked(), node(() => {}), hono(), koa(),
    lambda(() => 1), registerMetrics] as const;
  export const token = REPORTER;
  export class Events extends SecurityEventsModule {}
  export const nest = SecurityEventsModule.forRootAsync({
    useFactory: (env: string) => ({ reporter: { service: { svc_id: 'a', name: 'b', env } } }) });
  export const capture = createRequestCapture();
  export const enrichment = createEnrichment({ enrichers: [] });
  export const enricher = networkListEnricher({ networks: [], marks: 'tor' });
  export const facts = [currentContext(), describeAddress('1.1.1.1')] as const;
  export const explained = explainClientAddress({ headers: {}, socket: {} });
  export const receiver = createWebhookReceiver({ secret: 'a', onMessages: () => {} });
  export const handlers = [expressHandler(receiver), fastifyPlugin(receiver),
    fetchHandler(receiver), nodeHandler(receiver)] as const;
  export const answer = receiver.receive({ method: '', header: () => undefined,
    readBody: async () => undefined });
  export const read = [parseBody(new Uint8Array()), explainSignature('', '', '')] as const;
  export const duplicates = createMemoryDuplicates();
  export const writer = createLogWriter();
  export const reporter = createReporter({ service: { svc_id: 'a', name: 'b', env: 'c' } });
  export const sender = createWebhookSender({ url: '', secret: '' });
  export const [stats, flushed, closed, sent] =
    [sender.stats(), sender.flush(), sender.close(), sender.send([])];
  export const report = sendWebhook({ url: '', secret: '' }, []);
  export const records = [LogRecord.parse({}), parseLogLine('')] as const;
`;

async function declarations(): Promise<string> {
  const again = await Promise.all(
    entries.map(async (entry, index) => {
      const from = `import * as e${index} from '${entry.name}'; export type * as t${index} from '${entry.name}';`;
      if (!importableEntries.includes(entry)) return [from];
      const names = Object.keys((await import(join(root, entry.default))) as object);
      return [from, ...names.map((key) => `export const e${index}_${key} = e${index}.${key};`)];
    }),
  );
  return [...again.flat(), RESULTS].join('\n');
}

const OPTIONS = {
  module: 'nodenext',
  target: 'es2022',
  strict: true,
  declaration: true,
  outDir: 'out',
  skipLibCheck: false,
  lib: ['es2023'],
  types: ['node'],
};

/** Moves all packages into a folder below, except a link to the one that the consumer installed. */
function layOutAsPnpm(folder: string): void {
  const top = join(folder, 'node_modules');
  renameSync(top, join(folder, 'all'));
  mkdirSync(join(top, '.pnpm/all'), { recursive: true });
  renameSync(join(folder, 'all'), join(top, '.pnpm/all/node_modules'));
  symlinkSync(`.pnpm/all/node_modules/${name}`, join(top, name));
}

/** A batch in which the content of a message lacks its fields. */
const WRONG_BATCH = `
  import { sendWebhook } from '${name}';
  const batch = [{ message_type: 'test' as const, message: { text: 1 } }];
  export const report = sendWebhook({ url: '', secret: '' }, batch);
`;

/** Lines have at most 100 columns in most terminals: about ten lines. */
const MAX_ERROR_LENGTH = 1000;

const isQuick = quickOrNightly(true, false);

describe.each([['npm'], ['pnpm']].filter(([layout]) => !isQuick || layout === 'pnpm'))(
  'declarations of a consumer, installed by %s',
  (layout) => {
    const consumer = new Consumer();

    beforeAll(async () => {
      await consumer.install({ byNpm: false });
      if (layout === 'pnpm') layOutAsPnpm(consumer.folder);
      mkdirSync(join(consumer.folder, 'node_modules/@types'));
      const types = join(root, 'node_modules/@types/node');
      symlinkSync(types, join(consumer.folder, 'node_modules/@types/node'));
      consumer.write('use.mts', await declarations());
      const project = { compilerOptions: OPTIONS, files: ['use.mts'] };
      consumer.write('tsconfig.json', JSON.stringify(project));
      if (isQuick) return;
      const tools = join(consumer.folder, 'tools');
      cpSync(join(root, 'test/package/typescript-versions'), tools, { recursive: true });
      await consumer.npm('install', tools);
    });
    afterAll(() => {
      consumer.remove();
    });

    const COMPILERS: readonly [string, string][] = [
      ['TypeScript 7', join(root, 'node_modules/typescript')],
      ['TypeScript 5.9', join(consumer.folder, 'tools/node_modules/typescript-5.9')],
      ['TypeScript 5.4', join(consumer.folder, 'tools/node_modules/typescript-5.4')],
    ];
    test.each(COMPILERS.slice(0, isQuick ? 1 : undefined))(
      'compile with %s',
      async (_version, compiler) => {
        const compiled = await consumer.node(join(compiler, 'bin/tsc'), '-p', consumer.folder);
        expect(compiled).toEqual({ status: 0, stdout: '', stderr: '' });
        expect(readdirSync(join(consumer.folder, 'out'))).toContain('use.d.mts');
      },
      120_000,
    );

    test('have errors of at most 1000 characters for a wrong batch', async () => {
      const project = { compilerOptions: { ...OPTIONS, noEmit: true }, files: ['wrong.mts'] };
      consumer.write('wrong.mts', WRONG_BATCH);
      consumer.write('wrong.json', JSON.stringify(project));
      const compiler = join(root, 'node_modules/typescript/bin/tsc');
      const config = join(consumer.folder, 'wrong.json');
      const { status, stdout } = await consumer.node(compiler, '-p', config);
      expect(status).not.toBe(0);
      expect(stdout).toContain("is not assignable to type 'TestToSend'");
      expect(stdout.length).toBeLessThanOrEqual(MAX_ERROR_LENGTH);
    }, 60_000);
  },
);
