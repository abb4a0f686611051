#!/usr/bin/env node
import { runCommandLine } from './command-line.ts';
import { processTerminal } from './process-terminal.ts';
import { endOf } from './terminal.ts';

const terminal = processTerminal(process);
process.exitCode = await runCommandLine(process.argv.slice(2), terminal);
terminal.release();
// Elsewhere not: what is written to a pipe would be cut off. Here what does not answer would hold the process.
if (endOf(terminal.signal) === 'interrupted') process.exit();
