import { describe, expect, it } from 'vitest';
import { PROGRAM, readArguments } from '../../src/cli/command.ts';
import { loadCommands, runCommandLine } from '../../src/cli/command-line.ts';
import { EXIT_CODES } from '../../src/cli/errors.ts';
import { manifest } from '../helpers/package-files.ts';
import { fakeTerminal, runCommand } from '../helpers/terminal.ts';

const commands = await loadCommands();

describe('security-events', () => {
  it.each(['--help', '-h', 'help'])('%s lists every command and exit code', async (word) => {
    const { exitCode, stdout, stderr } = await runCommand([word]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const text = stdout.replaceAll(/\s+/g, ' ');
    for (const [name, { summary }] of Object.entries(commands)) {
      expect(text).toContain(` ${name} ${summary}`);
    }
    for (const [code, what] of Object.entries(EXIT_CODES))
      expect(text).toContain(` ${code} ${what}`);
  });

  it.each(['settings', 'dead'])('%s --help lists the commands below it', async (group) => {
    const { exitCode, stdout } = await runCommand([group, '--help']);
    expect(exitCode).toBe(0);
    const listed = stdout.match(new RegExp(`^  ${group} \\w+`, 'gm'))?.map((line) => line.trim());
    expect(listed).toEqual(Object.keys(commands).filter((name) => name.startsWith(`${group} `)));
  });

  it.each(['--version', '-V'])('%s prints the version of the package', async (word) => {
    const stdout = `${manifest.version}\n`;
    expect(await runCommand([word])).toEqual({ exitCode: 0, stdout, stderr: '' });
  });

  it.each([
    ['interrupted', 130],
    ['output closed', 0],
  ] as const)('reports no error once it is %s', async (why, exitCode) => {
    const terminal = fakeTerminal({ environment: { SECURITY_EVENTS_SECRET: '1234' } });
    if (why === 'interrupted') terminal.interrupt();
    else terminal.closeOutput();
    expect(await runCommandLine(['sign', 'no-such-file'], terminal)).toBe(exitCode);
    expect(terminal.stderr()).toBe('');
  });
});

/** A word of a shell, quoted or not, or a sign that ends a command. */
const TOKENS = /[|<>;&()]+|(?:'[^']*'|"[^"]*"|[^\s|<>;&()'"])+/g;
const isSign = (token: string): boolean => /^[|<>;&()]/.test(token);
const unquoted = (token: string): string => token.replace(/'([^']*)'|"([^"]*)"/g, '$1$2');

/** The arguments of each call of the program in a shell line. */
function callsIn(line: string): string[][] {
  const tokens = line.match(TOKENS) ?? [];
  return tokens.flatMap((token, at) => {
    if (token !== PROGRAM) return [];
    const rest = tokens.slice(at + 1);
    const end = rest.findIndex(isSign);
    return [rest.slice(0, end === -1 ? rest.length : end).map(unquoted)];
  });
}

describe.each(Object.entries(commands))('the help of %s', (name, command) => {
  it('shows its options and examples, within the width of the terminal', async () => {
    for (const columns of [40, 80, 200]) {
      const { exitCode, stdout, stderr } = await runCommand([...name.split(' '), '-h'], {
        columns,
      });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      const [text = '', examples = ''] = stdout.split('\nExamples:\n');
      expect(text).toMatch(new RegExp(`^Usage: security-events ${name} `));
      for (const option of Object.keys(command.options)) expect(text).toContain(`--${option}`);
      for (const line of command.examples) expect(examples).toContain(`  ${line}\n`);
      const widths = text
        .split('\n')
        .slice(1)
        .map((line) => line.length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(Math.max(columns, 52), 100));
      expect(await runCommand(['help', ...name.split(' ')], { columns })).toMatchObject({ stdout });
    }
  });

  it('has examples that can be run', () => {
    const words = name.split(' ');
    const calls = command.examples.flatMap(callsIn);
    const own = calls.filter((call) => call.slice(0, words.length).join(' ') === name);
    expect(own.length).toBeGreaterThan(0);
    for (const call of own) {
      expect(() => readArguments(call.slice(words.length), command)).not.toThrow();
    }
  });
});
