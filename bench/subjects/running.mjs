/**
 * The effect of sending on a process: its heap after many messages, and the delay of its event loop. `run`
 * returns the figure in the unit of the row.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { securityEvents } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';
import { QUEUES, senderTo } from './rivals.mjs';

const MESSAGES_PER_CALL = 1000;
/** Limits the number of waiting messages. */
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

/** Returns the size of the reachable heap after several collections. */
async function heapInUse() {
  for (let collection = 0; collection < 5; collection += 1) {
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
/** A busy machine is a little late. Beyond this factor the load is not that of the row. */
const MAX_TIME_FACTOR = 3;

/** Schedules steps by the clock, so that a late step does not reduce the load. */
async function sendSteadily(sender, steps) {
  const startedAt = performance.now();
  for (const [step, drafts] of steps.entries()) {
    await sender.send(drafts);
    const aheadMs = startedAt + (step + 1) * STEP_MS - performance.now();
    if (aheadMs > 0) await wait(aheadMs);
  }
  await sender.flush();
  const taken = (performance.now() - startedAt) / (steps.length * STEP_MS);
  if (taken > MAX_TIME_FACTOR) throw new Error(`the load took ${taken.toFixed(2)} times its time`);
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
