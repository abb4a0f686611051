/** Reads a file of records: validates it with `security-events validate`, or only parses it. */
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attackRecord } from './inputs.mjs';

const WARM_UP_RECORDS = 20_000;
const LINE_FEED = 10;

const built = (path) => import(new URL(`../../modules/cli/${path}`, import.meta.url).href);

/** Text before the first record, between two records, and after the last. */
const linesOf = { before: '', between: '\n', after: '\n' };
const arrayOf = { before: '[', between: ',', after: ']' };

function reading(read, { before, between, after } = linesOf) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const fileOf = (count) => join(folder, `${count}.json`);
  const write = (count) => {
    const record = JSON.stringify(attackRecord());
    const records = Array.from({ length: count }, () => record);
    writeFileSync(fileOf(count), before + records.join(between) + after);
  };
  const run = async (count) => {
    const found = await read(fileOf(count));
    if (found !== count) throw new Error(`found ${found} of ${count} records`);
  };
  return {
    prepare: (count) => {
      write(count);
      write(WARM_UP_RECORDS);
    },
    warmUp: () => run(WARM_UP_RECORDS),
    run,
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** Runs the command on a terminal that collects its output. */
async function validating() {
  const { runCommandLine } = await built('command-line.js');
  return async (file) => {
    let printed = '';
    const output = { isTerminal: false, columns: 80, hasColours: false };
    const terminal = {
      output: { ...output, write: async () => {} },
      errors: {
        ...output,
        write: async (text) => {
          printed += text;
        },
      },
      environment: {},
      signal: new AbortController().signal,
    };
    const exitCode = await runCommandLine(['validate', file], terminal);
    if (exitCode !== 0) throw new Error(printed);
    return Number(/^[\d,]+/.exec(printed)?.[0].replaceAll(',', ''));
  };
}

/** Parses each line with as little work as possible. */
async function parseLines(file) {
  let count = 0;
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(file)) {
    const bytes = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
      if (JSON.parse(bytes.toString('utf8', from, end)).payload !== undefined) count += 1;
      from = end + 1;
    }
    rest = bytes.subarray(from);
  }
  return count;
}

/** Reads the whole file, because `JSON.parse` cannot parse parts of an array. */
async function parseWhole(file) {
  const { readFile } = await import('node:fs/promises');
  return JSON.parse(await readFile(file, 'utf8')).length;
}

export const sides = {
  'ours, lines': async () => reading(await validating()),
  'ours, an array': async () => reading(await validating(), arrayOf),
  'JSON.parse, lines': () => reading(parseLines),
  'JSON.parse, an array': () => reading(parseWhole, arrayOf),
};
