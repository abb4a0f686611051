/** Passes each finished line through a pino logger. The only file that imports pino. */
import { pino } from 'pino';
import type { JsonObject } from '../contract/index.ts';
import { serializeChecked } from '../contract/serialize.ts';
import { tryCall } from '../runtime/host-calls.ts';

/** pino's line for an object without keys. */
const EMPTY_LINE = '{}\n';

/** pino has no defaults for these: it would read them from a polluted prototype. */
const UNSET_OPTIONS: object = {
  crlf: false,
  mixin: undefined,
  mixinMergeStrategy: undefined,
  msgPrefix: undefined,
  nestedKey: undefined,
  transport: undefined,
};

/** Arrays inherit from Array.prototype and Object.prototype, so one look-up checks both. */
const ARRAY_PROTOTYPE: object = Array.prototype;

/**
 * pino and JSON.stringify look these names up. Not a loop: looking up a changing key takes ten times
 * as long.
 */
const isPolluted = (): boolean =>
  'toJSON' in ARRAY_PROTOTYPE ||
  'method' in ARRAY_PROTOTYPE ||
  'headers' in ARRAY_PROTOTYPE ||
  'socket' in ARRAY_PROTOTYPE ||
  'setHeader' in ARRAY_PROTOTYPE ||
  '' in ARRAY_PROTOTYPE;

/**
 * Returns a function that turns the JSON of a validated record into a line. pino adds no level, time,
 * process id, host name or message. Keys that a tracer adds to every pino logger (a mixin, an
 * injected `dd`) are in the line; keys of the record win. Skips pino while prototypes are polluted.
 */
export function createPinoLine(): (json: string) => string {
  let line = '';
  let recordJson = '';
  const logger = pino(
    {
      base: null,
      timestamp: false,
      errorKey: '',
      serializers: { err: (value: unknown) => value },
      formatters: { level: () => ({ __proto__: null }), log: (object) => object },
      // Without a prototype, so that pino inherits no hooks.
      hooks: {
        __proto__: null,
        // Puts the record into the line of the empty object that is logged.
        streamWrite: (pinoLine: string) => withTracerKeys(recordJson, pinoLine),
      } as object,
      ...UNSET_OPTIONS,
    },
    {
      write: (text: string) => {
        line = text;
      },
    },
  );
  const log = (): void => logger.info({});
  return (json) => {
    if (isPolluted()) return `${json}\n`;
    // A tracer's hook may write another record meanwhile.
    const outer = { line, recordJson };
    line = '';
    recordJson = json;
    // If a tracer throws, the line lacks only its keys.
    tryCall(log);
    const result = line === '' ? `${json}\n` : line;
    // Restores the outer call's texts. Without one, this frees texts that may be large.
    ({ line, recordJson } = outer);
    return result;
  };
}

/** pino puts a comma before each key, since the level usually comes first. */
const withoutFirstComma = (line: string): string =>
  line.startsWith('{,') ? `{${line.slice(2)}` : line;

/** Merges the record with pino's line, which has only the keys that a tracer adds to every logger. */
function withTracerKeys(json: string, pinoLine: string): string {
  if (pinoLine === EMPTY_LINE) return `${json}\n`;
  const added = JSON.parse(withoutFirstComma(pinoLine)) as JsonObject;
  return `${serializeChecked({ ...added, ...(JSON.parse(json) as JsonObject) })}\n`;
}
