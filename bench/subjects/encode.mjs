/** The parts of sending that are not the network, for 1000 messages at a time. */
import { createHmac, randomUUID } from 'node:crypto';
import { envelope, SECRET, securityEvents } from './inputs.mjs';

const MESSAGE_COUNT = 1000;
const WARM_UP_REQUESTS = 100;
const DATE = '2026-11-21T10:00:01.000+00:00';

const built = (path) => import(new URL(`../../modules/${path}`, import.meta.url).href);

/** `work` answers with something of a length, so that it cannot be left out. */
function repeating(work) {
  const run = async (count) => {
    for (let done = 0; done < count; done += 1) {
      if ((await work()).length === 0) throw new Error('nothing came out');
    }
  };
  return { warmUp: () => run(WARM_UP_REQUESTS), run };
}

const drafts = securityEvents(MESSAGE_COUNT);

async function accepting() {
  const { acceptMessages } = await built('webhook/accept.js');
  const rules = { format: 2, dialect: 'strict', maxBodyBytes: 1 << 20, newId: randomUUID };
  const { systemClock } = await built('runtime/clock.js');
  const { createYield } = await built('runtime/yield-to-event-loop.js');
  return () => acceptMessages(drafts, rules, createYield(systemClock));
}

export const sides = {
  'ours, accepting': async () => repeating(await accepting()),
  'plain envelopes': () =>
    repeating(() => drafts.map((draft) => JSON.stringify(envelope(draft, randomUUID(), DATE)))),
  'ours, encoding and signing': async () => {
    const { encodeBody } = await built('webhook/encoder.js');
    const { sign } = await built('webhook/signature.js');
    const accepted = await (await accepting())();
    return repeating(() => {
      const outgoing = accepted.map(({ stored }) => ({ stored, sends: 0 }));
      return sign(encodeBody(outgoing, DATE), SECRET);
    });
  },
  'plain encoding and signing': () => {
    const ids = drafts.map(() => randomUUID());
    return repeating(() => {
      const messages = drafts.map((draft, index) => envelope(draft, ids[index], DATE));
      const body = Buffer.from(JSON.stringify(messages));
      return createHmac('sha256', SECRET).update(body).digest('hex');
    });
  },
};
