import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { EXIT_CODES } from '../../src/cli/failure.ts';
import { manifest, root } from '../helpers/package-files.ts';
import { fakeTerminal, runCommand } from '../helpers/terminal.ts';

describe('security-events', () => {
  it.each([['--help'], ['-h'], ['help']])(
    '%s names every command and every exit code',
    async (word) => {
      const { exitCode, stdout, stderr } = await runCommand([word]);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      for (const [name, { summary }] of Object.entries(COMMANDS)) {
        expect(stdout).toContain(`  ${name}`);
        expect(stdout).toContain(summary);
      }
      for (const [code, what] of Object.entries(EXIT_CODES)) {
        expect(stdout).toMatch(new RegExp(`^ +${code} +${what}$`, 'm'));
      }
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    },
  );

  it.each([['--version'], ['-V']])('%s tells the version of the package', async (word) => {
    expect(await runCommand([word])).toEqual({
      exitCode: 0,
      stdout: `${manifest.version}\n`,
      stderr: '',
    });
  });

  it.each([
    ['nothing', [], 'security-events: no command is given\nSee security-events --help.\n'],
    [
      'an unknown command',
      ['sing'],
      'security-events: there is no command sing\nDid you mean sign?\n',
    ],
    ['a name of Object', ['constructor'], 'security-events: there is no command constructor\n'],
    [
      'an escape sequence',
      ['\u001b[31mred'],
      'security-events: there is no command \\u001b[31mred\n',
    ],
    [
      'an unknown option',
      ['sign', '--secret-fil', 'x'],
      'security-events: there is no option --secret-fil\nDid you mean --secret-file?\n',
    ],
    ['an unknown short option', ['sign', '-x'], 'security-events: there is no option -x\n'],
    [
      'an option that may be a secret, by a slip',
      ['sign', `--${'a'.repeat(64)}`],
      `security-events: there is no option --${'a'.repeat(40)}\n`,
    ],
    [
      'a missing value',
      ['sign', '--secret-file'],
      'security-events: --secret-file needs a value\n',
    ],
    [
      'an option in the place of a value',
      ['sign', '--secret-file', '--help'],
      'security-events: --secret-file needs a value\nA value that begins with a dash: --secret-file=VALUE.\n',
    ],
    ['a value too many', ['sign', '--help=yes'], 'security-events: --help takes no value\n'],
    [
      'an option twice',
      ['sign', '--secret-env', 'A', '--secret-env', 'B'],
      'security-events: --secret-env is given more than once\n',
    ],
    [
      'arguments too many',
      ['secret', 'one'],
      'security-events: there are too many arguments: none is expected\n',
    ],
    [
      'one argument too many',
      ['sign', 'one', 'two'],
      'security-events: there are too many arguments: expected FILE\n',
    ],
  ])('refuses %s with exit code 2, on standard error', async (_, words, stderr) => {
    expect(await runCommand(words)).toEqual({ exitCode: 2, stdout: '', stderr });
  });

  it.each([['--secret=hunter2'], ['--secret hunter2']])(
    'refuses %s, says why, and does not repeat it',
    async (text) => {
      const { exitCode, stdout, stderr } = await runCommand(['sign', ...text.split(' ')]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain('a secret may not be an argument');
      expect(stderr).toContain('--secret-file PATH');
      expect(stderr).not.toContain('hunter2');
    },
  );

  it('paints its name red where errors go to a terminal with colours', async () => {
    const { stderr } = await runCommand([], { hasColours: true });
    expect(stderr).toMatch('\u001b[31msecurity-events:\u001b[39m');
  });

  it.each([
    ['interrupted', 130],
    ['output closed', 0],
  ] as const)('is quiet about what fails once it is %s', async (why, exitCode) => {
    const terminal = fakeTerminal({ environment: { SECURITY_EVENTS_SECRET: '1234' } });
    if (why === 'interrupted') terminal.interrupt();
    else terminal.closeOutput();
    expect(await runCommandLine(['sign', 'no-such-file'], terminal)).toBe(exitCode);
    expect(terminal.stderr()).toBe('');
  });
});

describe('every command', () => {
  const page = readFileSync(join(root, 'docs/command-line.md'), 'utf8');

  it.each(Object.keys(COMMANDS))('%s has help with its options and examples', async (name) => {
    const loaded = await COMMANDS[name]?.load();
    const names =
      loaded !== undefined && 'commands' in loaded
        ? Object.keys(loaded.commands).map((word) => [name, word])
        : [[name]];
    for (const words of names) {
      const { exitCode, stdout, stderr } = await runCommand([...words, '--help']);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: security-events ${words.join(' ')} `));
      expect(stdout).toContain('\nExamples\n');
      expect(stdout).toContain('-h, --help');
      expect(await runCommand(['help', ...words])).toEqual({ exitCode, stdout, stderr });
      // Run `npm run docs` and commit it.
      expect(page).toContain(`## ${words.join(' ')}\n\n\`\`\`text\n${stdout}\`\`\`\n`);
    }
  });
});
