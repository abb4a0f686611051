/** Types of the test kit. */
import type { LogRecord, WebhookMessageV1, WebhookMessageV2 } from '../../src/contract/index.ts';
import { sendWebhook } from '../../src/index.ts';
import { createLogWriter } from '../../src/log/writer.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import {
  createFakeClock,
  createLineSink,
  type Step,
  sampleMessage,
  sampleMessageToSend,
  sampleMessageV1,
  sampleRecord,
} from '../../src/testing/index.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

export const clock: Clock = createFakeClock();
createLogWriter({ destination: createLineSink() });

const attack = sampleRecord();
same<Equal<IsAny<typeof attack>, false>>();
same<Equal<typeof attack, Extract<LogRecord, { event_name: 'svc.ev0.threat.attack' }>>>();

const login = sampleRecord('svc.ev0.user_event.login', { payload: { success: false } });
same<Equal<typeof login.payload.success, boolean>>();
// @ts-expect-error a login has no ruleset
export const ruleset: unknown = login.payload.ruleset;
// @ts-expect-error an attack has no success
sampleRecord('svc.ev0.threat.attack', { payload: { success: true } });
// @ts-expect-error there is no such event
sampleRecord('svc.ev0.threat.attacks');

export const exploit: string = sampleRecord('svc.ev0.threat.vulnerability_exploit.lfi').payload
  .protection;

const event = sampleMessage();
same<Equal<IsAny<typeof event>, false>>();
same<Equal<typeof event, Extract<WebhookMessageV2, { message_type: 'security_event' }>>>();
export const playbook: string = sampleMessage('security_response').message.playbook.id;
export const thread: string = sampleMessage('injection_sql').message.incident_thread;
// @ts-expect-error an incident has no playbook
sampleMessage('http_scan', { message: { playbook: { id: 'a' } } });

const pulse = sampleMessageV1('pulse', { blocked: true });
same<Equal<typeof pulse, Extract<WebhookMessageV1, { svc_payload_type: 'pulse' }>>>();

/** What senders take. */
export const report = sendWebhook({ url: 'http://localhost', secret: 's' }, [
  sampleMessageToSend(),
  sampleMessageToSend('account_takeover', { v1: { blocked: true } }),
]);

// @ts-expect-error there is no such fault
export const wrong: Step = { fault: 'explode' };
// @ts-expect-error a limit has a size
export const limit: Step = { fault: 'body-limit' };
