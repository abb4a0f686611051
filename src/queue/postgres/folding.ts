/**
 * Has postings added up, and other processes told, after something came in. However many ask
 * meanwhile, one call is under way.
 */
export class Folding {
  readonly #fold: (rings: boolean) => Promise<unknown>;
  #isAsked = false;
  #rings = false;
  #running: Promise<void> | undefined;

  constructor(fold: (rings: boolean) => Promise<unknown>) {
    this.#fold = fold;
  }

  /** With `rings`, other processes are told: what was found added up is not news of this one. */
  ask(rings: boolean): void {
    this.#isAsked = true;
    this.#rings ||= rings;
    this.#running ??= this.#run();
  }

  /** Once nothing that was asked for is left to do. */
  async done(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isAsked) {
      const rings = this.#rings;
      this.#isAsked = false;
      this.#rings = false;
      // Whoever claims does it otherwise.
      await this.#fold(rings).catch(() => {});
    }
    this.#running = undefined;
  }
}
