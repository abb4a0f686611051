/**
 * Takes one sample in its own process: `node bench/sample.mjs <subject's URL> <side> <n>`.
 *
 * Prints one line of JSON. Only `run` is timed, unless it returns a figure. `prepare` creates the input, `warmUp` lets
 * V8 compile, and `check` throws if the work was not done.
 */
const [subject = '', side = '', count = ''] = process.argv.slice(2);
const operations = Number(count);

const { sides } = await import(subject);
const { prepare, warmUp, run, check, close } = await sides[side]();
await prepare?.(operations);
await warmUp?.();
// With --expose-gc, so that the timed part does not collect the garbage of the warm-up.
globalThis.gc?.();
const rssBefore = process.memoryUsage.rss();
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
const ownFigure = await run(operations);
const figure = ownFigure ?? performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpuBefore);
const rssBytes = process.memoryUsage.rss() - rssBefore;
await check?.(operations);
await close?.();
process.stdout.write(`${JSON.stringify({ figure, cpuMs: (user + system) / 1000, rssBytes })}\n`);
