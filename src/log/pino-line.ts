/** Passes each finished line through a pino logger. The only file that imports pino. */
import { pino } from 'pino';
import type { JsonObject } from '../contract/index.ts';
import { serializeChecked } from '../contract/serialize.ts';

/** What pino makes of an object without keys. */
const EMPTY_LINE = '{}\n';

/** pino would inherit these options, since it gives them no default. */
const UNSET_OPTIONS: object = {
  crlf: false,
  mixin: undefined,
  mixinMergeStrategy: undefined,
  msgPrefix: undefined,
  nestedKey: undefined,
  transport: undefined,
};

/** Read by each name and not in a loop: a changing key takes ten times as long to look up. */
const ARRAYS: object = Array.prototype;

/** pino and JSON.stringify look for these names. Arrays inherit from both prototypes that count. */
const isPolluted = (): boolean =>
  'toJSON' in ARRAYS ||
  'method' in ARRAYS ||
  'headers' in ARRAYS ||
  'socket' in ARRAYS ||
  'setHeader' in ARRAYS ||
  '' in ARRAYS;

/**
 * Returns a function that makes the line of a validated record from its JSON. pino adds no level, time, process
 * id, host name or message. What a tracer adds to every pino logger (a mixin, an injected `dd`) is in the
 * line too, once: keys of the record win. While prototypes are polluted, pino is left out.
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
      // Without prototypes: pino must not inherit hooks or formatters.
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
    // A tracer's hook may write a record of its own meanwhile.
    const outer = { line, finished };
    line = '';
    finished = json;
    try {
      logger.info({});
      if (line === '') throw new Error('pino made no line');
      return line;
    } finally {
      // Not kept until the next call: a record may be large.
      ({ line, finished } = outer);
    }
  };
}

/** pino puts a comma before each key, since the level usually comes first. */
const withoutFirstComma = (line: string): string =>
  line.startsWith('{,') ? `{${line.slice(2)}` : line;

/** `made` has only what a tracer adds to every logger. */
function lineAround(json: string, made: string): string {
  if (made === EMPTY_LINE) return `${json}\n`;
  const added = JSON.parse(withoutFirstComma(made)) as JsonObject;
  return `${serializeChecked({ ...added, ...(JSON.parse(json) as JsonObject) })}\n`;
}
