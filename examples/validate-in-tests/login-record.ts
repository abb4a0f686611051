/** The code under test: an agent that makes its own records. */
import { EVENT_VERSION, type LogRecordInput } from 'security-event-delivery/contract';

export const loginRecord = ({ success }: { success: boolean }): LogRecordInput => ({
  context: { service: { svc_id: 'shop-1', name: 'shop', env: 'production' } },
  detected_at: new Date().toISOString(),
  event_name: 'svc.ev0.user_event.login',
  event_version: EVENT_VERSION,
  payload: { success },
});
