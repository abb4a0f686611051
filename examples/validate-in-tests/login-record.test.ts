/** A unit test that validates the records of our code against the contract. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogRecord } from 'security-event-delivery/contract';
import * as z from 'zod';
import { loginRecord } from './login-record.ts';

await test('loginRecord returns a valid record', () => {
  const record = LogRecord.parse(loginRecord({ success: false }));
  assert.equal(record.event_name, 'svc.ev0.user_event.login');
});

await test('the contract names the field that is wrong, and what it expects', () => {
  const result = LogRecord.safeParse({
    ...loginRecord({ success: false }),
    payload: { success: 'no' },
  });
  assert.equal(
    z.prettifyError(result.error ?? assert.fail('it was accepted')),
    '✖ expected true or false, found a string\n  → at payload.success',
  );
});
