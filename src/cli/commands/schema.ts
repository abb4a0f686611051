import { readdir, readFile } from 'node:fs/promises';
import { defineCommand } from '../command.ts';
import { misuse } from '../failure.ts';
import { nearestWord } from '../nearest-word.ts';
import { wordOf } from '../option-values.ts';
import { packageFile } from '../package-file.ts';

const SCHEMAS = packageFile('schemas/');

async function shapes(): Promise<string[]> {
  const files = await readdir(SCHEMAS);
  return [...new Set(files.map((file) => file.split('.')[0] ?? file))].toSorted();
}

export const schemaCommand = defineCommand({
  summary: 'prints a JSON Schema (draft 2020-12) of the contract; without a name, the names',
  words: [{ name: 'SHAPE', what: 'log-record, log-line, webhook-message-v2, webhook-body-v2, …' }],
  options: {
    dialect: {
      type: 'string',
      value: 'strict|open',
      what: 'closed vocabularies, or any word (strict)',
    },
    reading: {
      type: 'string',
      value: 'emitted|received',
      what: 'what is written, or what is accepted from others (emitted)',
    },
  },
  examples: [
    { command: 'security-events schema', what: 'the names' },
    {
      command: 'security-events schema webhook-body-v2 --reading received > body.schema.json',
      what: 'what a receiver in another language should accept',
    },
  ],
  async run({ options, words: [shape], terminal }) {
    const known = await shapes();
    if (shape === undefined) {
      await terminal.output.write(`${known.join('\n')}\n`);
      return 0;
    }
    const dialect = wordOf('dialect', options.dialect ?? 'strict', ['strict', 'open']);
    const reading = wordOf('reading', options.reading ?? 'emitted', ['emitted', 'received']);
    if (!known.includes(shape)) {
      const near = nearestWord(shape, known);
      throw misuse(`SHAPE must be one of ${known.join(', ')}`, near && `Did you mean ${near}?`);
    }
    const file = new URL(`${shape}.${dialect}.${reading}.json`, SCHEMAS);
    await terminal.output.write(await readFile(file, 'utf8'));
    return 0;
  },
});
