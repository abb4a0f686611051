/** The examples of each command's help: they are commands of this program, and can be read as such. */
import { describe, expect, it } from 'vitest';
import { readArguments } from '../../src/cli/arguments.ts';
import type { Command } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { commandHelp, PROGRAM } from '../../src/cli/help.ts';

type Named = readonly [name: string, command: Command];

async function namedCommands(): Promise<Named[]> {
  const found: Named[] = [];
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const loaded = await load();
    if ('commands' in loaded) {
      const below = Object.entries(loaded.commands);
      found.push(...below.map(([word, command]): Named => [`${name} ${word}`, command]));
    } else {
      found.push([name, loaded]);
    }
  }
  return found;
}

const commands = await namedCommands();

/** A word of a shell, quoted or not, or a sign that ends a command. */
const TOKENS = /[|<>;&()]+|(?:'[^']*'|"[^"]*"|[^\s|<>;&()'"])+/g;
const isSign = (token: string): boolean => /^[|<>;&()]/.test(token);
const unquoted = (token: string): string => token.replace(/'([^']*)'|"([^"]*)"/g, '$1$2');

/** The words of each call of the program in a line of a shell, and what follows its name. */
function callsIn(line: string): string[][] {
  const tokens = line.match(TOKENS) ?? [];
  return tokens.flatMap((token, at) => {
    if (token !== PROGRAM) return [];
    const rest = tokens.slice(at + 1);
    const end = rest.findIndex(isSign);
    return [rest.slice(0, end === -1 ? rest.length : end).map(unquoted)];
  });
}

it.each([
  ['(umask 077; security-events secret > a)', [['secret']]],
  [
    'A=1 security-events sign \'a b\' --x="c d" | security-events verify',
    [['sign', 'a b', '--x=c d'], ['verify']],
  ],
  ['npx other', []],
])('calls are found in %s', (line, expected) => {
  expect(callsIn(line)).toEqual(expected);
});

describe.each(commands)('%s', (name, command) => {
  it('has examples, which its help shows', () => {
    expect(command.examples.length).toBeGreaterThan(0);
    const help = commandHelp(name, command);
    expect(command.examples.filter((example) => !help.includes(example.command))).toEqual([]);
  });

  it.each(command.examples.map((example) => example.command))('can be called by: %s', (line) => {
    const calls = callsIn(line);
    const own = calls.filter((words) => words.slice(0, name.split(' ').length).join(' ') === name);
    expect(own.length).toBeGreaterThan(0);
    for (const words of own) {
      expect(() => readArguments(words.slice(name.split(' ').length), command)).not.toThrow();
    }
  });

  it('says what each option takes', () => {
    const silent = Object.entries(command.options).filter(
      ([, { what, type, value }]) => what === '' || (type === 'string' && value === undefined),
    );
    expect(silent.map(([option]) => option)).toEqual([]);
  });
});
