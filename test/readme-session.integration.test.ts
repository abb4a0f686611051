/**
 * Runs the terminal sessions of the pages, and compares the output word by word. Runs in this process, page by page from
 * top to bottom. A command that listens is interrupted after the others have ended.
 */
import { expect, test } from 'vitest';
import { runCommandLine } from '../src/cli/command-line.ts';
import { textOf } from './helpers/package-files.ts';
import { type ConsoleCommand, consoleCommandsOf, PAGES } from './helpers/pages.ts';
import { type FakeTerminal, fakeTerminal } from './helpers/terminal.ts';

/**
 * Differs from run to run, so it is masked in the page and in the output: ids, times, durations, ports, and the path of
 * a secret.
 */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '(id)'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, '(time)'],
  [/\b\d\d:\d\d:\d\d\b/g, '(time)'],
  [/\b\d+(?:\.\d+)? m?s\b/g, '(duration)'],
  [/\b127\.0\.0\.1:\d+/g, '127.0.0.1:(port)'],
  [/--secret-file \S+/g, '--secret-file (path)'],
];

const masked = (text: string): string =>
  VARIABLE.reduce((left, [pattern, name]) => left.replaceAll(pattern, name), text).trimEnd();

const pages = PAGES.map((page) => ({
  page,
  commands: consoleCommandsOf(page, textOf(page)),
})).filter(({ commands }) => commands.length > 0);

interface Running {
  readonly terminal: FakeTerminal;
  readonly ended: Promise<number>;
  /** Both outputs in order, as a terminal shows them. */
  shown(): string;
  /** Resolves when the output matches. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
}

const nothing = (): void => {};

function start(words: readonly string[]): Running {
  let text = '';
  let look = nothing;
  const add = (more: string): void => {
    text += more;
    look();
  };
  // As npm starts it.
  const environment = { npm_command: 'exec' };
  const terminal = fakeTerminal({ environment, onOutput: add, onErrors: add });
  const ended = runCommandLine(words, terminal);
  const shows = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      look = () => {
        const found = pattern.exec(text);
        if (found !== null) resolve(found);
      };
      look();
      void ended.then(() => reject(new Error(`it ended without ${pattern}: ${text}`)));
    });
  return { terminal, ended, shown: () => text, shows };
}

const LISTENING = /Listening on (http:\S+?)\/?\n[\s\S]*--secret-file (\S+)\n/;

interface Outcome {
  readonly place: string;
  readonly shown: string;
  readonly said: string;
}

/** Replaces words of the page that differ in this run: its port, and its secret. */
type Actual = (word: string) => string;

const unchanged: Actual = (word) => word;

async function runListener(words: readonly string[]): Promise<readonly [Running, Actual]> {
  const running = start([...words, '--port', '0']);
  const [, url = '', secretFile = ''] = await running.shows(LISTENING);
  return [
    running,
    (word) =>
      word.startsWith('/tmp/') ? secretFile : word.replace(/^http:\/\/127\.0\.0\.1:8080/, url),
  ];
}

/** Returns the output of each command, and the page's. */
async function runPage(commands: readonly ConsoleCommand[]): Promise<Outcome[]> {
  const listeners: Running[] = [];
  const all: (readonly [ConsoleCommand, Running])[] = [];
  let actual = unchanged;
  for (const command of commands) {
    if (command.words[0] === 'listen') {
      const [listener, words] = await runListener(command.words);
      listeners.push(listener);
      all.push([command, listener]);
      actual = words;
    } else {
      const running = start(command.words.map(actual));
      all.push([command, running]);
      await running.ended;
    }
  }
  for (const { terminal } of listeners) terminal.interrupt();
  await Promise.all(listeners.map(({ ended }) => ended));
  return all.map(([{ place, output }, running]) => ({
    place,
    shown: masked(output),
    said: masked(running.shown()),
  }));
}

test.each(pages)('the sessions of $page show the output of the commands', async ({ commands }) => {
  const outcomes = await runPage(commands);
  const expected = outcomes.map(({ place, said }) => ({ place, shown: said }));
  expect(outcomes.map(({ place, shown }) => ({ place, shown }))).toEqual(expected);
});

test('the README shows one terminal that listens, and another that tests', () => {
  const [readme] = pages;
  expect(readme?.page).toBe('README.md');
  expect(readme?.commands.map(({ words }) => words[0])).toEqual(['listen', 'test']);
});
