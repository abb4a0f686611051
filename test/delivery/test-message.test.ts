import { expect, test } from 'vitest';
import { messageToSend } from '../../src/contract/index.ts';
import { testMessage } from '../../src/delivery/send-test.ts';

const SUBJECT = {
  applicationId: 'shop-1',
  name: 'Shop',
  environment: 'production',
  id: '0192a1b2-0000-7000-8000-000000000001',
  now: Date.UTC(2026, 10, 21, 10),
};

test('the test message is that of the decisions (D30, D46)', () => {
  expect(testMessage(SUBJECT)).toEqual({
    message_id: SUBJECT.id,
    message_type: 'test',
    message: {
      application_id: 'shop-1',
      application_name: 'Shop',
      environment: 'production',
      id: SUBJECT.id,
      event_category: 'test',
      event_kind: 'test_kind',
      date_occurred: '2026-11-21T10:00:00.000+00:00',
      humanized_description: 'A test of the webhook. Nothing happened.',
      url: `urn:uuid:${SUBJECT.id}`,
      ips: [],
    },
  });
});

test.each(['strict', 'open'] as const)('the %s contract takes it as it is', (dialect) => {
  const given = testMessage(SUBJECT);
  expect(messageToSend(dialect).safeParse(given)).toMatchObject({ success: true, data: given });
});
