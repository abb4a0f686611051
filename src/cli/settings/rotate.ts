import { defineCommand } from '../command.ts';
import { misuse } from '../failure.ts';
import { jsonLine } from '../json-line.ts';
import { momentOf } from '../moment.ts';
import { durationOf } from '../option-values.ts';
import { printable } from '../printable.ts';
import {
  APPLICATION_OPTION,
  configuring,
  FILE_WORD,
  JSON_OPTION,
  requireApplication,
} from './configuring.ts';
import {
  CHOSEN_SECRET_OPTIONS,
  chosenSecret,
  forget,
  secretFacts,
  tellSecretFile,
} from './new-secret.ts';
import { tellWarnings } from './tested.ts';

interface WhenOptions {
  readonly from?: string | undefined;
  readonly in?: string | undefined;
}

/** Nothing given: the library's own notice. */
function timeOf({ from, in: notice }: WhenOptions, nowMs: number): Date | undefined {
  if (from !== undefined && notice !== undefined) {
    throw misuse('expected --from or --in, and not both');
  }
  if (from !== undefined) return new Date(momentOf('from', from));
  return notice === undefined ? undefined : new Date(nowMs + durationOf('in', notice));
}

export const rotateCommand = defineCommand({
  summary: 'changes the secret of an application, from a time on',
  words: [FILE_WORD],
  options: {
    ...APPLICATION_OPTION,
    ...CHOSEN_SECRET_OPTIONS,
    from: { type: 'string', value: 'TIME', what: 'when, such as 2026-11-23T08:00:00Z' },
    in: { type: 'string', value: 'TIME', what: 'after how long, such as 12h; 0 for now (24h)' },
    ...JSON_OPTION,
  },
  notes: [
    [
      'Each attempt is signed with exactly one secret: before that time with the old one, from then',
      'on with the new one, retries included. Give the new one to the receiver, which takes both,',
      'before that time; afterwards it drops the old one. The same command again, before that time,',
      'puts another secret in the place of the new one.',
    ].join('\n'),
  ],
  examples: [
    {
      command:
        'security-events settings rotate settings.json --application shop-1 --secret-out next.secret --in 48h',
      what: 'makes a secret, in a file that nobody else may read',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const id = requireApplication(options.application);
    const from = timeOf(options, terminal.clock.now());
    await configuring(file, {}, async (configuration) => {
      const chosen = await chosenSecret(options, terminal);
      if (chosen === undefined) {
        throw misuse(
          'no new secret is named',
          'Make one with --secret-out PATH, or name it by --secret-env or --secret-file.',
        );
      }
      const { secret } = chosen;
      const rotation = { secret, ...(from === undefined ? {} : { from }) };
      const rotated = await configuration
        .rotateSecret(id, rotation)
        .catch(async (error: unknown) => {
          await forget(chosen);
          throw error;
        });
      await tellWarnings(rotated.warnings, terminal);
      await tellSecretFile(chosen, terminal);
      const signsFrom = rotated.from.toISOString();
      const shown = secretFacts(chosen);
      const text = `${printable(id)}: the new secret signs from ${signsFrom}\n`;
      await terminal.output.write(
        options.json === true
          ? jsonLine({ application: id, from: signsFrom, ...shown })
          : `${shown.secret === undefined ? '' : `${shown.secret}\n`}${text}`,
      );
    });
    return 0;
  },
});
