/**
 * What a process that sends feels of it: the heap after many messages, and how long its event loop is held
 * up. `run` gives the figure itself, in the unit of the row.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { securityEvents } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';
import { QUEUES, senderTo } from './rivals.mjs';

const MESSAGES_PER_CALL = 1000;
/** So that what waits is bounded, whatever is faster. */
const MESSAGES_AT_ONCE = 20_000;
const WARM_UP = 20_000;

const MEGABYTE = 1_000_000;
const NANOSECONDS_IN_MS = 1_000_000;

async function start() {
  const receiver = await startReceiver();
  const { sender, close } = await senderTo(QUEUES.memory)(receiver.url);
  return {
    sender,
    close: async () => {
      await close();
      receiver.stop();
    },
    expectArrived: async (expected) => {
      const { messages } = await receiver.totals();
      if (messages !== expected) throw new Error(`${messages} of ${expected} messages arrived`);
    },
  };
}

async function deliver(sender, count) {
  for (let done = 0; done < count; done += MESSAGES_PER_CALL) {
    if (done % MESSAGES_AT_ONCE === 0) await sender.flush();
    await sender.send(securityEvents(MESSAGES_PER_CALL));
  }
  await sender.flush();
}

/** What is reachable: the collector is asked for it until nothing more comes of it. */
async function heapInUse() {
  for (let asked = 0; asked < 5; asked += 1) {
    await turn();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed / MEGABYTE;
}

async function heapAfter() {
  const { sender, close, expectArrived } = await start();
  return {
    run: async (count) => {
      await deliver(sender, count);
      return await heapInUse();
    },
    check: expectArrived,
    close,
  };
}

const STEP_MS = 10;
const STEP_MESSAGES = 500;
/** A little late is a busy machine; beyond this it is another load than the row tells. */
const MOST_TIME_TAKEN = 3;

/** By the clock, so that what is late does not slow the load down. */
async function sendSteadily(sender, steps) {
  const startedAt = performance.now();
  for (const [step, drafts] of steps.entries()) {
    await sender.send(drafts);
    const aheadMs = startedAt + (step + 1) * STEP_MS - performance.now();
    if (aheadMs > 0) await wait(aheadMs);
  }
  await sender.flush();
  const taken = (performance.now() - startedAt) / (steps.length * STEP_MS);
  if (taken > MOST_TIME_TAKEN) throw new Error(`the load took ${taken.toFixed(2)} times its time`);
}

const loopDelay = (isLoaded) => async () => {
  const { sender, close, expectArrived } = await start();
  let steps;
  return {
    prepare: (count) => {
      steps = Array.from({ length: count / STEP_MESSAGES }, () => securityEvents(STEP_MESSAGES));
    },
    warmUp: () => deliver(sender, WARM_UP),
    run: async () => {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await (isLoaded ? sendSteadily(sender, steps) : wait(steps.length * STEP_MS));
      delay.disable();
      return delay.percentile(99) / NANOSECONDS_IN_MS;
    },
    check: (count) => expectArrived(isLoaded ? count + WARM_UP : WARM_UP),
    close,
  };
};

export const sides = {
  'heap after many': heapAfter,
  'loop delay, sending': loopDelay(true),
  'loop delay, idle': loopDelay(false),
};
