/** What is refused on its way into the queue, and what may be there all the same: with a scripted store. */
import { expect, test } from 'vitest';
import type { Bodies } from '../../../src/queue/jetstream/bodies.ts';
import type { FollowUps } from '../../../src/queue/jetstream/follow-ups.ts';
import { Intake } from '../../../src/queue/jetstream/intake.ts';
import { Refusal, Unanswered } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { namesOf, tokenOf } from '../../../src/queue/jetstream/names.ts';
import { newRow, type Row } from '../../../src/queue/jetstream/row.ts';
import type { Rows } from '../../../src/queue/jetstream/rows.ts';
import type { Session } from '../../../src/queue/jetstream/session.ts';
import type { View } from '../../../src/queue/jetstream/view.ts';
import type { Work } from '../../../src/queue/jetstream/work.ts';
import { entryOf, ROW } from '../conformance/trial.ts';

const NO_ROOM = new Refusal(10077, 'maximum messages exceeded');
const LOST = new Unanswered('no answer');

interface Script {
  /** What each publish comes to: the message is stored, or this is thrown. */
  readonly publishes: readonly (Error | undefined)[];
  /** What of the first application's row becomes of a withdrawal. */
  readonly withdrawal?: 'done' | 'too late' | 'failed';
}

function intakeOf({ publishes, withdrawal = 'done' }: Script) {
  const left = [...publishes];
  let sequence = 0;
  const publish = async () => {
    const failed = left.shift();
    if (failed !== undefined) throw failed;
    sequence += 1;
    return sequence;
  };
  const session = {
    store: { publish },
    handle: 'me',
    names: namesOf('p'),
    time: { now: () => 0 },
    maxPayload: 10_000,
    bounds: { maxPendingMessages: 2, maxPendingBytes: 1000 },
  } as unknown as Session;
  const initial = newRow({ ...ROW, tier: 'healthy' });
  const view = { applicationId: 'one', token: tokenOf('one'), row: initial } as unknown as View;
  const work = { viewOf: () => view, brought: () => {} } as unknown as Work;
  const rows = {
    refresh: async () => {},
    change: async (_: View, change: (row: Row) => Row | undefined) => {
      if (withdrawal === 'failed') throw LOST;
      return withdrawal === 'done' ? change(initial) : undefined;
    },
  } as unknown as Rows;
  const bodies = { keep: () => {} } as unknown as Bodies;
  const followUps = { run: async () => {} } as unknown as FollowUps;
  return new Intake(session, work, { rows, bodies, followUps });
}

const THREE = ['a', 'b', 'c'].map((messageId) => entryOf('one', { messageId }));
const FULL = { code: 'ERR_QUEUE_FULL', path: ['maxPendingMessages'] };

test.each([
  ['of all', [NO_ROOM, NO_ROOM]],
  ['of some, and the others were withdrawn', [undefined, NO_ROOM]],
  ['of the last one, and the others were withdrawn', [undefined, undefined, NO_ROOM]],
])('a queue without room %s is full', async (_, publishes) => {
  await expect(intakeOf({ publishes }).enqueue(THREE)).rejects.toMatchObject(FULL);
});

test.each(['too late', 'failed'] as const)(
  'what was stored before the queue was full may be sent where its withdrawal is %s',
  async (withdrawal) => {
    const intake = intakeOf({ publishes: [undefined, NO_ROOM], withdrawal });
    const failed = { code: 'ERR_QUEUE_FAILED', message: expect.stringContaining('may be sent') };
    await expect(intake.enqueue(THREE)).rejects.toMatchObject(failed);
  },
);

test('what nobody answered for may be stored, though another one found no room', async () => {
  const intake = intakeOf({ publishes: [NO_ROOM, LOST] });
  await expect(intake.enqueue(THREE)).rejects.toBe(LOST);
});

test('a message that the server does not take is told by its place, and nothing is stored', async () => {
  const intake = intakeOf({ publishes: [new Error('published')] });
  const large = entryOf('one', { bytes: Buffer.alloc(10_000, 'x') });
  const refused = { code: 'ERR_MESSAGE_TOO_LARGE', path: [1] };
  await expect(intake.enqueue([entryOf('one'), large])).rejects.toMatchObject(refused);
});
