/**
 * Isolation of destinations: measures 160 healthy destinations of 200. The other 40 are healthy on one side.
 * On the other side half of them never answer and half answer 500.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { applicationAt, securityEvent } from './inputs.mjs';

const DESTINATIONS = 200;
/** By last digit of the index: one in ten never answers, and one in ten answers 500. */
const FAULT_OF = { 0: 'hang', 1: 'fail' };
const MESSAGES_PER_CALL = 100;
/** The open loop: number of messages in a step, and time between steps. */
const STEP_MESSAGES = 5;
const STEP_MS = 10;

const faultOf = (index) => FAULT_OF[index % 10];

export async function startReceiver(host = '127.0.0.1') {
  const program = fileURLToPath(new URL('../isolation-receiver.mjs', import.meta.url));
  const child = fork(program, [host], { execArgv: [] });
  const ask = async (command) => {
    child.send(command);
    return (await once(child, 'message'))[0];
  };
  const [origin] = await once(child, 'message');
  return { origin, ask, stop: () => child.disconnect() };
}

/** Creates a message with the current time, from which the receiver computes the latency. */
export function messageNow(applicationId, index = 0) {
  const draft = securityEvent(index);
  draft.message.application_id = applicationId;
  const now = performance.timeOrigin + performance.now();
  draft.message.humanized_description = `sent ${now.toFixed(3)}`;
  return draft;
}

const messageFor = (index) => messageNow(`app-${index % DESTINATIONS}`, index);

async function startSender(origin, isFaulty) {
  const { createWebhookSender } = await import('security-event-delivery');
  const applications = Object.fromEntries(
    Array.from({ length: DESTINATIONS }, (_, index) => [
      `app-${index}`,
      applicationAt(
        `${origin}/${(isFaulty && faultOf(index)) || (faultOf(index) ? 'spare' : 'well')}`,
      ),
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

export async function untilArrived(receiver, count) {
  for (;;) {
    const { well } = await receiver.ask('totals');
    if (well >= count) return;
    await wait(2);
  }
}

/** Sends as fast as possible. Measures the time until healthy destinations have received everything. */
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

/** Sends at a steady rate. Returns the 99th percentile of the time from `send` to arrival. */
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
      // Steps follow the clock, so a late one does not reduce the load.
      const aheadMs = startedAt + (step + 1) * STEP_MS - performance.now();
      if (aheadMs > 0) await wait(aheadMs);
    }
    await untilArrived(receiver, wellAmong(done));
  };
  return {
    // Opens the circuit breakers of failing destinations.
    warmUp: async () => {
      await send(300);
      await receiver.ask('reset');
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
