/** The bytes of accepted messages that are not handled yet are limited. */
import { expect, test } from 'vitest';
import { deferred } from '../helpers/promises.ts';
import { BODY, receiverOf, requestOf } from './receivers.ts';

test('concurrent requests are accepted up to maxHandlingBytes', async () => {
  const [read, held] = [deferred(), deferred()];
  const options = {
    answer: 'received',
    maxHandlingBytes: 1,
    duplicates: false,
    onMessages: () => held.promise,
  } as const;
  const { receiver } = receiverOf(options);
  const readBody = () => read.promise.then(() => Buffer.from(BODY));
  const answering = [1, 2, 3].map(() => receiver.receive(requestOf(BODY, { readBody })));
  read.resolve();
  const answers = await Promise.all(answering);
  expect(answers.map(({ status }) => status)).toEqual([204, 503, 503]);
  const handling = answers[0]?.handle?.();
  expect((await receiver.receive(requestOf())).status).toBe(503);
  held.resolve();
  await handling;
  expect((await receiver.receive(requestOf())).status).toBe(204);
});

const fail = (): never => {
  throw new Error('at once');
};

test.each(['received', 'handled'] as const)(
  'failed messages no longer count, with the answer %s',
  async (answer) => {
    const { receiver, errors } = receiverOf({ answer, maxHandlingBytes: 1, onMessages: fail });
    for (let times = 0; times < 2; times += 1) {
      const { status, handle } = await receiver.receive(requestOf());
      expect(status).toBe(answer === 'received' ? 204 : 500);
      await handle?.();
    }
    await receiver.idle();
    expect(errors).toEqual([new Error('at once'), new Error('at once')]);
  },
);
