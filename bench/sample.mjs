/**
 * Takes one sample in a process of its own: `node bench/sample.mjs <subject's URL> <side> <n>`.
 *
 * Prints one line of JSON. Only `run` is timed, unless it gives a figure of its own: `prepare` makes what it needs, `warmUp` lets V8
 * compile, and `check` makes the process fail where the work was not done.
 */
const [subject = '', side = '', count = ''] = process.argv.slice(2);
const operations = Number(count);

const { sides } = await import(subject);
const { prepare, warmUp, run, check, close } = await sides[side]();
await prepare?.(operations);
await warmUp?.();
// Given by --expose-gc: what the warm-up left behind is not for the timed part to collect.
globalThis.gc?.();
const rssBefore = process.memoryUsage.rss();
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
const told = await run(operations);
const figure = told ?? performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpuBefore);
const rssBytes = process.memoryUsage.rss() - rssBefore;
await check?.(operations);
await close?.();
process.stdout.write(`${JSON.stringify({ figure, cpuMs: (user + system) / 1000, rssBytes })}\n`);
