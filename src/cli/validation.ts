/** Reads inputs as they come and tells what of them breaks the contract. */
import { type CheckOptions, createJudge, type Judge } from './contract-check.ts';
import { faultJson, faultLine, Tally } from './fault-text.ts';
import type { Input } from './input.ts';
import { type JsonPiece, JsonSplitter } from './json-splitter.ts';
import type { Terminal } from './terminal.ts';

export interface ValidationOptions extends CheckOptions {
  /** How many faults are told; the others are counted. */
  readonly maxFaults: number;
  /** Faults as JSON, one a line. */
  readonly isForPrograms: boolean;
}

export class Validation {
  readonly tally = new Tally();
  readonly #options: ValidationOptions;
  readonly #judge: Judge;
  readonly #terminal: Terminal;

  constructor(options: ValidationOptions, terminal: Terminal) {
    this.#options = options;
    this.#judge = createJudge(options);
    this.#terminal = terminal;
  }

  /** One input to its end. Rejects where it cannot be read, and when the command is to end. */
  async read({ name, chunks }: Input): Promise<void> {
    const splitter = new JsonSplitter(this.#options.maxValueBytes);
    for await (const { buffer, byteOffset, byteLength } of chunks) {
      this.#terminal.signal.throwIfAborted();
      await this.#tell(name, splitter.push(Buffer.from(buffer, byteOffset, byteLength)));
    }
    await this.#tell(name, splitter.end());
  }

  /** Together what is in one chunk: a write for each fault would wait for each. */
  async #tell(file: string, pieces: readonly JsonPiece[]): Promise<void> {
    const { output } = this.#terminal;
    let text = '';
    for (const piece of pieces) {
      const judgement = this.#judge(piece);
      const room = this.#options.maxFaults - this.tally.faults;
      for (const fault of judgement.faults.slice(0, Math.max(room, 0))) {
        text += this.#options.isForPrograms
          ? faultJson(file, fault)
          : faultLine(output, file, fault);
      }
      this.tally.add(judgement);
    }
    if (text !== '') await output.write(text);
  }
}
