/**
 * Many applications on real sockets, some of which never answer: what `bench/black-holes.ts` times. Each
 * queue's own part is in the conformance suite: claims beside a destination that hangs.
 */
import { expect, test } from 'vitest';
import { runScene } from '../../bench/black-hole-scene.ts';
import { createWebhookSender } from '../../src/index.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

/** Fewer than there are slots, and each keeps its own until its request times out after 15 s. */
const HOLES = quickOrNightly(10, 30);
const APPLICATIONS = 10 * HOLES;

/** With a second to spare: on a very busy machine the last ones are served after that. */
const BEFORE_TIMEOUT_MS = 14_000;

test.runIf(process.platform === 'linux')(
  `every healthy application is served while all ${HOLES} before them hang`,
  async () => {
    const { firstMs, hanging } = await runScene({
      createSender: createWebhookSender,
      openQueue: undefined,
      applications: APPLICATIONS,
      holes: HOLES,
      holesFirst: true,
      messages: 2,
    });
    expect(firstMs).toHaveLength(APPLICATIONS - HOLES);
    const isInTime = (firstMs.at(-1) ?? 0) < BEFORE_TIMEOUT_MS;
    expect(hanging === HOLES || !isInTime).toBe(true);
  },
);
