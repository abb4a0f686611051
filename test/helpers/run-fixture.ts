import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fixtureCommand } from './fixture-command.ts';

export interface FixtureRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From the first output to the exit: how long the program lingered. */
  readonly lingeredMs: number;
}

/** Runs a program of test/fixtures as a process of its own. */
export async function runFixture(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<FixtureRun> {
  const [file = '', ...rest] = fixtureCommand(name.replace(/\.ts$/, ''), args);
  const child = spawn(file, rest, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let spokeAt = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    spokeAt ||= performance.now();
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const exited = once(child, 'exit').then(() => performance.now());
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, stdout, stderr, lingeredMs: (await exited) - spokeAt };
}
