/** Accepts, encodes and signs 1000 messages at a time, without a network. */
import { createHmac, randomUUID } from 'node:crypto';
import { envelope, SECRET, securityEvents } from './inputs.mjs';

const MESSAGE_COUNT = 1000;
const WARM_UP_REQUESTS = 100;
const DATE = '2026-11-21T10:00:01.000+00:00';

const built = (path) => import(new URL(`../../modules/${path}`, import.meta.url).href);

/** `work` returns something with a length, so that the engine cannot remove it. */
function repeating(work) {
  const run = async (count) => {
    for (let done = 0; done < count; done += 1) {
      if ((await work()).length === 0) throw new Error('the result is empty');
    }
  };
  return { warmUp: () => run(WARM_UP_REQUESTS), run };
}

const drafts = securityEvents(MESSAGE_COUNT);

async function accepting() {
  const { readEntries } = await built('delivery/send-webhook.js');
  const { systemClock } = await built('runtime/clock.js');
  const settings = { format: 2, dialect: 'strict', maxBodyBytes: 1 << 20 };
  const system = { clock: systemClock, newId: randomUUID };
  return () => readEntries(drafts, settings, system);
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
      const outgoing = accepted.map(({ stored }) => ({ stored, retryCount: 0 }));
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
