/** Runs each argument as a command, goes on after a failure, and names those that failed. */
import { spawnSync } from 'node:child_process';

const failed = process.argv
  .slice(2)
  .filter((command) => spawnSync(command, { shell: true, stdio: 'inherit' }).status !== 0);
if (failed.length > 0) {
  process.stderr.write(`failed:\n${failed.map((command) => `  ${command}\n`).join('')}`);
  process.exitCode = 1;
}
