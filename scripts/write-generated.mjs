import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Writes generated files. With `--check` it only compares them, and the process fails if one is out of date. */
export function writeGenerated(files, command) {
  for (const [file, text] of Object.entries(files)) {
    const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
    if (!process.argv.includes('--check')) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    } else if (readFileSync(path, 'utf8') !== text) {
      process.stderr.write(`${file} is out of date: run \`${command}\` and commit it\n`);
      process.exitCode = 1;
    }
  }
}
