#!/usr/bin/env node
import { runCommandLine } from './command-line.ts';
import { processTerminal } from './process-terminal.ts';
import { endReasonOf } from './terminal.ts';

const terminal = processTerminal(process);
process.exitCode = await runCommandLine(process.argv.slice(2), terminal);
terminal.release();
// Only after an interruption: exiting would cut off what is still being written to a pipe. After an
// interruption a connection that does not answer would keep the process alive.
if (endReasonOf(terminal.signal) === 'interrupted') process.exit();
