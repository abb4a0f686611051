import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import { counted } from '../quantities.ts';
import { paint } from '../terminal.ts';
import { checkFile } from './check-file.ts';
import { FILE_WORD, JSON_OPTION } from './configuring.ts';
import { WARNING_TEXTS } from './tested.ts';

const placeOf = (file: string, path: readonly string[]): string =>
  [file, path.join('.')].filter((part) => part !== '').join(': ');

export const checkCommand = defineCommand({
  summary: 'checks a settings file, drafts and URLs too, and names every fault',
  words: [FILE_WORD],
  options: {
    'secrets-elsewhere': {
      type: 'boolean',
      what: 'a URL needs no secret beside it, as with `secretOf`; drafts are not looked at',
    },
    ...JSON_OPTION,
  },
  notes: ['The exit code is 1 where there is a fault. Warnings are none.'],
  examples: [
    { command: 'security-events settings check settings.json', what: 'before it is deployed' },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const found = await checkFile(file, options['secrets-elsewhere'] === true);
    const { faults, warnings, applications } = found;
    const isValid = faults.length === 0;
    if (options.json === true) {
      await terminal.output.write(jsonLine({ isValid, ...found }));
      return isValid ? 0 : 1;
    }
    const { output } = terminal;
    for (const { path, message } of faults) {
      await output.write(`${printable(placeOf(file, path))}: ${printable(message)}\n`);
    }
    for (const { path, warning } of warnings) {
      const word = paint(output, 'yellow', warning);
      await output.write(`${printable(placeOf(file, path))}: ${word}: ${WARNING_TEXTS[warning]}\n`);
    }
    const verdict = isValid
      ? `valid, ${counted(applications, 'application')} with a URL`
      : counted(faults.length, 'fault');
    await terminal.errors.write(`${printable(file)}: ${verdict}\n`);
    return isValid ? 0 : 1;
  },
});
