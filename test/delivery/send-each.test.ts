import { expect, test } from 'vitest';
import { type EachCall, sendEach } from '../../src/delivery/send-each.ts';
import { SecurityEventError } from '../../src/errors.ts';

test('a single message that is refused is not sent again', async () => {
  const refusal = new SecurityEventError('ERR_INVALID_MESSAGE');
  const [message] = [{ message_type: 'unknown' }];
  let calls = 0;
  const call: EachCall = {
    accept: () => {
      calls += 1;
      return Promise.reject(refusal);
    },
    errorFor: (error) => error,
  };
  const results = await sendEach(Promise.resolve([message]), call);
  expect(results).toEqual([{ status: 'rejected', reason: refusal }]);
  expect(refusal.input).toEqual([message]);
  expect(calls).toBe(1);
});
