#!/usr/bin/env node
import { runCommandLine } from './command-line.ts';
import { processTerminal } from './process-terminal.ts';
import { endReasonOf } from './terminal.ts';

const terminal = processTerminal(process);
process.exitCode = await runCommandLine(process.argv.slice(2), terminal);
terminal.release();
// After an interruption, a connection that does not answer would keep the process alive. In all other cases the
// process ends by itself: `exit` would cut off output that is still being written to a pipe.
if (endReasonOf(terminal.signal) === 'interrupted') process.exit();
