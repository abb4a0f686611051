/** Describes the machine and the versions of a measurement. */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const PACKAGES = [
  'pino',
  'pino-http',
  'winston',
  '@opentelemetry/sdk-logs',
  'posthog-node',
  '@segment/analytics-node',
  'express',
  'fastify',
  'hono',
  'zod',
  'ajv',
  'undici',
  'uuid',
  '@photostructure/sqlite',
  'pg',
];

export interface Surroundings {
  readonly date: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Load average of the minute before the first sample. */
  readonly loadBefore: number;
}

export function describeSurroundings(now: Date): Surroundings {
  const [first] = os.cpus();
  const memory = `${Math.round(os.totalmem() / 2 ** 30)} GiB`;
  return {
    date: now.toISOString().slice(0, 10),
    machine: `${os.cpus().length} × ${first?.model ?? 'unknown'}, ${memory}, ${os.type()} ${os.release().split('-')[0]}`,
    versions: {
      node: process.versions.node,
      'security-event-delivery': versionIn('package.json'),
      ...Object.fromEntries(
        PACKAGES.map((name) => [name, versionIn(`node_modules/${name}/package.json`)]),
      ),
    },
    loadBefore: os.loadavg()[0] ?? Number.NaN,
  };
}

function versionIn(path: string): string {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

export function renderSurroundings({ date, machine, versions, loadBefore }: Surroundings): string {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${date}. ${machine}. Load before: ${loadBefore.toFixed(2)}.\n${programs.join(', ')}.\n`;
}
