/**
 * Reporting an attack within a request, told on both channels: a line to a destination that counts and
 * does nothing else, and a message that is accepted for a queue that counts and keeps nothing. What it
 * costs to deliver is measured by the rows of sending. The rival is pino with the same record, to a
 * destination like ours: a line, and nothing checked.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { attackRecord, SECRET } from './inputs.mjs';

const WARM_UP_EVENTS = 20_000;
/** Events of a request; between two requests the event loop turns. */
const EVENTS_PER_REQUEST = 10;

const built = (path) => import(new URL(`../../modules/${path}`, import.meta.url).href);

/** `report` makes one event; `within` runs a request's work; `arrived` counts at both far ends. */
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
          throw new Error(`${found} of ${expected} events came out as ${what}`);
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

/** Takes messages as a queue in memory does, and forgets them. */
async function forgetfulQueue(seen) {
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
    queue: await forgetfulQueue(seen),
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

/** Nothing warms up; timed is the call alone, after which the line is written and the message on its way. */
const firstEvent = (makeSide) => async () => {
  const { report, within, arrived } = await makeSide();
  return {
    run: () => {
      within(report);
    },
    check: async () => {
      for (const [what, found] of Object.entries(await arrived())) {
        if (found !== 1) throw new Error(`${found} events came out as ${what}`);
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
