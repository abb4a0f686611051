/**
 * Has postings added up, and other processes told, after something came in. However many ask
 * meanwhile, one call is under way.
 */
export class Folding {
  readonly #fold: () => Promise<unknown>;
  #isAsked = false;
  #running: Promise<void> | undefined;

  constructor(fold: () => Promise<unknown>) {
    this.#fold = fold;
  }

  ask(): void {
    this.#isAsked = true;
    this.#running ??= this.#run();
  }

  /** Once nothing that was asked for is left to do. */
  async done(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false;
      // Whoever claims does it otherwise.
      await this.#fold().catch(() => {});
    }
    this.#running = undefined;
  }
}
