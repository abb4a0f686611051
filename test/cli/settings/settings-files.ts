/** Settings files of a test, and the commands on them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { type FakeTerminalOptions, runCommand } from '../../helpers/terminal.ts';

export const OLD_SECRET = 'hunter2-hunter2-hunter2';
export const URL_TEXT = 'https://receiver.example/hook';

export const SHOP_1 = ['--application', 'shop-1'] as const;
export const PRIVATE = ['--network', 'allow-private'] as const;

export const SHOP = { name: 'shop', environment: 'production', url: URL_TEXT, secret: OLD_SECRET };

/** With this in the file; without, there is none. `run` runs `settings WORD FILE …`. */
export function settingsFixture(content?: unknown) {
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
    run: (word: string, words: readonly string[] = [], options: FakeTerminalOptions = {}) =>
      runCommand(['settings', word, file, ...words], options),
    text,
    stored: () => JSON.parse(text()) as Record<string, unknown>,
  };
}
