#!/usr/bin/env node
import { runCommandLine } from './command-line.ts';
import { processTerminal } from './process-terminal.ts';

const terminal = processTerminal(process);
// Not process.exit: what is written to a pipe would be cut off.
process.exitCode = await runCommandLine(process.argv.slice(2), terminal);
terminal.release();
