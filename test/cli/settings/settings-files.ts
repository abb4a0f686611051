/** Settings files of a test, and the commands on them. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { type FakeTerminalOptions, runCommand } from '../../helpers/terminal.ts';

export const OLD_SECRET = 'hunter2-hunter2-hunter2';
export const URL_TEXT = 'https://receiver.example/hook';

export const SHOP = { name: 'shop', environment: 'production', url: URL_TEXT, secret: OLD_SECRET };

export interface SettingsFixture {
  readonly folder: string;
  readonly file: string;
  /** `settings WORD FILE …` */
  readonly run: (
    word: string,
    words?: readonly string[],
    options?: FakeTerminalOptions,
  ) => ReturnType<typeof runCommand>;
  readonly text: () => string;
  readonly stored: () => Record<string, unknown>;
}

/** With this in the file; without, there is none. */
export function settingsFixture(content?: unknown): SettingsFixture {
  const folder = temporaryFolder();
  const file = join(folder, 'settings.json');
  if (content !== undefined) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(file, text, { mode: 0o600 });
  }
  const text = (): string => readFileSync(file, 'utf8');
  return {
    folder,
    file,
    run: (word, words = [], options) => runCommand(['settings', word, file, ...words], options),
    text,
    stored: () => JSON.parse(text()) as Record<string, unknown>,
  };
}

export const modeOf = (path: string): number => statSync(path).mode & 0o777;
