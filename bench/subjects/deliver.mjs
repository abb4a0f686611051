/**
 * The delivery engine. `deliver`: one destination, until everything is delivered, beside a bare loop.
 * `isolation`: 200 destinations; the same healthy 160 are measured where the other 40 answer, and where
 * half of those never answer and the other half answer 500.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SECRET, securityEvent } from './inputs.mjs';

const DESTINATIONS = 200;
/** Every tenth is a black hole, and the one behind it answers 500. */
const FAULT_OF = { 0: 'hang', 1: 'fail' };
const MESSAGES_PER_CALL = 100;
/** Of the open loop: messages in a step, and how far steps are apart. */
const STEP_MESSAGES = 5;
const STEP_MS = 10;

const faultOf = (index) => FAULT_OF[index % 10];

async function startReceiver() {
  const child = fork(fileURLToPath(new URL('../isolation-receiver.mjs', import.meta.url)), {
    execArgv: [],
  });
  const ask = async (question) => {
    child.send(question);
    return (await once(child, 'message'))[0];
  };
  const [origin] = await once(child, 'message');
  return { origin, ask, stop: () => child.disconnect() };
}

const now = () => performance.timeOrigin + performance.now();

/** A message that tells when it was sent. */
function messageFor(index) {
  const draft = securityEvent(index);
  draft.message.application_id = `app-${index % DESTINATIONS}`;
  draft.message.humanized_description = `sent ${now().toFixed(3)}`;
  return draft;
}

async function startSender(origin, isFaulty) {
  const { createWebhookSender } = await import('security-event-delivery');
  const applications = Object.fromEntries(
    Array.from({ length: DESTINATIONS }, (_, index) => [
      `app-${index}`,
      {
        name: 'shop',
        environment: 'production',
        url: `${origin}/${(isFaulty && faultOf(index)) || (faultOf(index) ? 'spare' : 'well')}`,
        secret: SECRET,
      },
    ]),
  );
  return createWebhookSender({
    settings: { applications },
    network: 'allow-private',
    maxPendingMessages: 1_000_000,
    maxPendingBytes: 2 ** 31,
  });
}

const wellAmong = (count) => {
  let well = 0;
  for (let index = 0; index < count; index += 1) well += faultOf(index) === undefined ? 1 : 0;
  return well;
};

async function untilArrived(receiver, count) {
  for (;;) {
    const { well } = await receiver.ask('totals');
    if (well >= count) return;
    await wait(2);
  }
}

/** As fast as it goes: timed until the healthy ones have everything. */
const throughput = (isFaulty) => async () => {
  const receiver = await startReceiver();
  const sender = await startSender(receiver.origin, isFaulty);
  const warmUp = 20 * DESTINATIONS;
  let done = 0;
  const send = async (count) => {
    for (let end = done + count; done < end; done += MESSAGES_PER_CALL) {
      const numbers = Array.from({ length: MESSAGES_PER_CALL }, (_, at) => done + at);
      await sender.send(numbers.map(messageFor));
    }
    await untilArrived(receiver, wellAmong(done));
  };
  return {
    warmUp: () => send(warmUp),
    run: async (healthy) => {
      await send((healthy * 10) / 8);
    },
    close: async () => {
      await sender.close({ deadlineMs: 0 });
      receiver.stop();
    },
  };
};

/** At a steady rate: gives the 99th percentile of the time from `send` to arrival. */
const latency = (isFaulty) => async () => {
  const receiver = await startReceiver();
  const sender = await startSender(receiver.origin, isFaulty);
  let done = 0;
  const send = async (steps) => {
    const startedAt = performance.now();
    for (let step = 0; step < steps; step += 1) {
      const numbers = Array.from({ length: STEP_MESSAGES }, (_, at) => done + at);
      done += STEP_MESSAGES;
      await sender.send(numbers.map(messageFor));
      // Not after the last step, but by the clock: what is late does not slow the load down.
      const aheadMs = startedAt + (step + 1) * STEP_MS - performance.now();
      if (aheadMs > 0) await wait(aheadMs);
    }
    await untilArrived(receiver, wellAmong(done));
  };
  return {
    // Longer than the failing ones take to be found out.
    warmUp: async () => {
      await send(300);
      await receiver.ask('forget');
    },
    run: async (steps) => {
      await send(steps);
      return (await receiver.ask('p99')) * steps;
    },
    close: async () => {
      await sender.close({ deadlineMs: 0 });
      receiver.stop();
    },
  };
};

export const sides = {
  'throughput, all well': throughput(false),
  'throughput, some failing': throughput(true),
  'latency, all well': latency(false),
  'latency, some failing': latency(true),
};
