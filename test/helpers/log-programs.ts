import { fixtureCommand } from './fixture-command.ts';

export type LogProgram = 'append' | 'exit' | 'flood' | 'full' | 'standard';

/** The command that runs one of test/fixtures/log-*.ts. */
export const programCommand = (program: LogProgram, args: readonly string[]): string[] =>
  fixtureCommand(`log-${program}`, args);
