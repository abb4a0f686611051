/**
 * Reports an attack within a request on both channels: a line to a destination that only counts, and a
 * message to a queue that only counts. Other rows measure delivery. The rival is pino, which writes the
 * same record without validation to a destination that only counts.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { attackRecord, SECRET } from './inputs.mjs';

const WARM_UP_EVENTS = 20_000;
/** Number of events in a request. Yields to the event loop between requests. */
const EVENTS_PER_REQUEST = 10;

const built = (path) => import(new URL(`../../modules/${path}`, import.meta.url).href);

/** `report` reports one event, `within` runs the work of a request, `arrived` returns the received counts. */
function reporting({ report, within, arrived }, eventsPerRequest) {
  const run = async (count) => {
    for (let done = 0; done < count; done += eventsPerRequest) {
      await turn();
      within(() => {
        for (let event = 0; event < eventsPerRequest; event += 1) report();
      });
    }
    await turn();
  };
  return {
    warmUp: () => run(WARM_UP_EVENTS),
    run,
    check: async (count) => {
      const expected = WARM_UP_EVENTS + count;
      for (const [what, found] of Object.entries(await arrived())) {
        if (found !== expected)
          throw new Error(`${found} of ${expected} events arrived as ${what}`);
      }
    },
  };
}

function counting() {
  const seen = { lines: 0 };
  const write = () => {
    seen.lines += 1;
    return true;
  };
  return { seen, destination: { write } };
}

/** Accepts messages like a memory queue, but only counts them. */
async function countingQueue(seen) {
  const { createMemoryQueue } = await built('queue/memory.js');
  seen.messages = 0;
  const taken = Promise.resolve({ sequences: [], closed: [] });
  return Object.assign(createMemoryQueue(), {
    enqueue: (entries) => {
      seen.messages += entries.length;
      return taken;
    },
  });
}

async function reporter() {
  const { createReporter, createWebhookSender } = await built('index.js');
  const { RequestScope, runInScope } = await built('capture/request/request-scope.js');
  const { seen, destination } = counting();
  const { context, payload } = attackRecord();
  const { env, name, svc_id } = context.service;
  const webhook = createWebhookSender({
    dialect: 'open',
    role: 'enqueue',
    queue: await countingQueue(seen),
    url: 'https://receiver.example.com/hook',
    secret: SECRET,
    application: { id: svc_id, name, environment: env },
  });
  const service = { env, name, svc_id };
  const events = createReporter({ service, log: { destination }, webhook });
  return {
    report: () => events.attack(payload),
    within: (work) => {
      const { actor, http } = context;
      runInScope(new RequestScope(() => ({ actor, http })), work);
    },
    arrived: async () => {
      await events.flush();
      return seen;
    },
  };
}

async function barePino() {
  const { pino } = await import('pino');
  const { seen, destination } = counting();
  const logger = pino({}, destination);
  const record = attackRecord();
  return {
    report: () => logger.info(record),
    within: (work) => work(),
    arrived: () => seen,
  };
}

/** Measures the first call without a warm-up. It writes the line and passes on the message. */
const firstEvent = (makeSide) => async () => {
  const { report, within, arrived } = await makeSide();
  return {
    run: () => {
      within(report);
    },
    check: async () => {
      for (const [what, found] of Object.entries(await arrived())) {
        if (found !== 1) throw new Error(`${found} events arrived as ${what}`);
      }
    },
  };
};

const manyEvents = (makeSide, eventsPerRequest) => async () =>
  reporting(await makeSide(), eventsPerRequest);

export const sides = {
  'reporter in a request': manyEvents(reporter, EVENTS_PER_REQUEST),
  'reporter, an event a turn': manyEvents(reporter, 1),
  'reporter, the first event': firstEvent(reporter),
  'bare pino line': manyEvents(barePino, EVENTS_PER_REQUEST),
  'bare pino line, one a turn': manyEvents(barePino, 1),
  'bare pino line, the first': firstEvent(barePino),
};
