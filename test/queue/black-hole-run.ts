/** Many applications on real sockets, some of which never answer: what `bench/black-holes.ts` times. */
import { runScene } from '../../bench/black-hole-scene.ts';
import { createWebhookSender } from '../../src/index.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

/** Fewer than there are slots, and each keeps its own until its request times out after 15 s. */
export const HOLES = quickOrNightly(10, 30);
const APPLICATIONS = 10 * HOLES;

/** With a second to spare: on a very busy machine the last ones are served after that. */
const BEFORE_TIMEOUT_MS = 14_000;

/** How many were served, and whether any black hole was given up meanwhile. */
export async function servePastBlackHoles(
  openQueue: (() => MessageQueue) | undefined,
): Promise<object> {
  const { firstMs, hanging } = await runScene({
    createSender: createWebhookSender,
    openQueue,
    applications: APPLICATIONS,
    holes: HOLES,
    holesFirst: true,
    messages: 2,
  });
  const isInTime = (firstMs.at(-1) ?? 0) < BEFORE_TIMEOUT_MS;
  return { served: firstMs.length, allHang: hanging === HOLES || !isInTime };
}

export const ALL = { served: APPLICATIONS - HOLES, allHang: true };
