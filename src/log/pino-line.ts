/** Passes each finished line through a pino logger. The only file that imports pino. */
import { pino } from 'pino';
import type { JsonObject } from '../contract/index.ts';
import { serializeChecked } from '../contract/serialize.ts';

/** pino's line for an object without keys. */
const EMPTY_LINE = '{}\n';

/** Without defaults in pino: it would inherit them from a polluted prototype. */
const UNSET_OPTIONS: object = {
  crlf: false,
  mixin: undefined,
  mixinMergeStrategy: undefined,
  msgPrefix: undefined,
  nestedKey: undefined,
  transport: undefined,
};

/** Arrays inherit from both prototypes that matter. */
const ARRAYS: object = Array.prototype;

/**
 * pino and JSON.stringify look these names up. Not a loop: looking up a changing key takes ten times
 * as long.
 */
const isPolluted = (): boolean =>
  'toJSON' in ARRAYS ||
  'method' in ARRAYS ||
  'headers' in ARRAYS ||
  'socket' in ARRAYS ||
  'setHeader' in ARRAYS ||
  '' in ARRAYS;

/**
 * Returns a function that turns the JSON of a validated record into a line. pino adds no level, time,
 * process id, host name or message. Keys that a tracer adds to every pino logger (a mixin, an
 * injected `dd`) are in the line; keys of the record win. Skips pino while prototypes are polluted.
 */
export function createPinoLine(): (json: string) => string {
  let line = '';
  let finished = '';
  const logger = pino(
    {
      base: null,
      timestamp: false,
      errorKey: '',
      serializers: { err: (value: unknown) => value },
      // Without prototypes, so that pino inherits no hooks or formatters.
      formatters: { level: () => ({ __proto__: null }), log: (object) => object },
      hooks: {
        __proto__: null,
        streamWrite: (made: string) => lineAround(finished, made),
      } as object,
      ...UNSET_OPTIONS,
    },
    {
      write: (text: string) => {
        line = text;
      },
    },
  );
  return (json) => {
    if (isPolluted()) return `${json}\n`;
    // A tracer's hook may write another record meanwhile.
    const outer = { line, finished };
    line = '';
    finished = json;
    try {
      logger.info({});
      if (line === '') throw new Error('pino made no line');
      return line;
    } finally {
      // Frees the texts, which may be large.
      ({ line, finished } = outer);
    }
  };
}

/** pino puts a comma before each key, since the level usually comes first. */
const withoutFirstComma = (line: string): string =>
  line.startsWith('{,') ? `{${line.slice(2)}` : line;

/** `made` has only the keys that a tracer adds to every logger. */
function lineAround(json: string, made: string): string {
  if (made === EMPTY_LINE) return `${json}\n`;
  const added = JSON.parse(withoutFirstComma(made)) as JsonObject;
  return `${serializeChecked({ ...added, ...(JSON.parse(json) as JsonObject) })}\n`;
}
