/**
 * The terminal sessions of the pages are what the commands print, word by word. They are run in this
 * process, page by page from top to bottom; one that listens goes on until the others have ended, and
 * is then ended as by Ctrl-C.
 */
import { expect, test } from 'vitest';
import { runCommandLine } from '../src/cli/command-line.ts';
import { textOf } from './helpers/package-files.ts';
import { type ConsoleCommand, consoleCommandsOf, PAGES } from './helpers/pages.ts';
import { type FakeTerminal, fakeTerminal } from './helpers/terminal.ts';

/**
 * What differs from run to run stands for itself, in the page as in what is printed: ids, times,
 * durations, ports of this machine, and where a secret is kept. All else must be equal.
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
  /** Both outputs as they came, as a terminal shows them. */
  shown(): string;
  /** Resolves when the pattern is among that. */
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

/** Words of the page that are others in this run: its port, and its secret. */
type Actual = (word: string) => string;

const asItIs: Actual = (word) => word;

async function runListener(words: readonly string[]): Promise<readonly [Running, Actual]> {
  const running = start([...words, '--port', '0']);
  const [, url = '', secretFile = ''] = await running.shows(LISTENING);
  return [
    running,
    (word) =>
      word.startsWith('/tmp/') ? secretFile : word.replace(/^http:\/\/127\.0\.0\.1:8080/, url),
  ];
}

/** What was printed beside what the page says. */
async function runPage(commands: readonly ConsoleCommand[]): Promise<Outcome[]> {
  const listeners: Running[] = [];
  const all: (readonly [ConsoleCommand, Running])[] = [];
  let actual = asItIs;
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

test.each(pages)('the sessions of $page are what the commands print', async ({ commands }) => {
  const outcomes = await runPage(commands);
  const expected = outcomes.map(({ place, said }) => ({ place, shown: said }));
  expect(outcomes.map(({ place, shown }) => ({ place, shown }))).toEqual(expected);
});

test('the README shows one terminal that listens, and another that tests', () => {
  const [readme] = pages;
  expect(readme?.page).toBe('README.md');
  expect(readme?.commands.map(({ words }) => words[0])).toEqual(['listen', 'test']);
});
