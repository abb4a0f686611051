/** The contract in a unit test: does what our code makes follow it? Run by Node's own test runner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogRecord } from 'security-event-delivery/contract';
import * as z from 'zod';
import { loginRecord } from './login-record.ts';

await test('a login becomes a valid record', () => {
  const record = LogRecord.parse(loginRecord({ success: false }));
  assert.equal(record.event_name, 'svc.ev0.user_event.login');
});

await test('a wrong record is told by its field, and by what was expected there', () => {
  const result = LogRecord.safeParse({
    ...loginRecord({ success: false }),
    payload: { success: 'no' },
  });
  assert.equal(
    z.prettifyError(result.error ?? assert.fail('it was accepted')),
    '✖ expected true or false, found a string\n  → at payload.success',
  );
});
