/** A look at the whole input before any of it is sent, where it can be read twice. */
import { stat } from 'node:fs/promises';
import { openInput } from '../input.ts';
import { startProgress } from '../progress.ts';
import { counted } from '../quantities.ts';
import type { Terminal } from '../terminal.ts';
import { type InputFault, readInput } from './message-input.ts';
import type { SendSettings } from './send-settings.ts';

export interface CheckedInput {
  /** How many messages there are; absent where the input can be read once only. */
  readonly count?: number;
  /** The first ones. */
  readonly faults: readonly InputFault[];
  readonly faultCount: number;
}

const MAX_FAULTS = 100;

/** A file is read to its end; what comes through a pipe is not there twice, and is told nothing of. */
export async function checkInput(
  file: string | undefined,
  { options, dialect }: SendSettings,
  terminal: Terminal,
): Promise<CheckedInput> {
  if (file === undefined || file === '-' || !(await stat(file)).isFile()) {
    return { faults: [], faultCount: 0 };
  }
  const faults: InputFault[] = [];
  let faultCount = 0;
  let count = 0;
  const progress = startProgress(terminal, () => `Checking: ${counted(count, 'message')}`);
  try {
    const { chunks } = openInput(file, terminal);
    for await (const item of readInput(chunks, { format: options.format, dialect })) {
      if (item.kind === 'message') {
        count += 1;
        continue;
      }
      faultCount += 1;
      if (faultCount <= MAX_FAULTS) faults.push(item);
    }
  } finally {
    await progress.stop();
  }
  return { count, faults, faultCount };
}
