/** Messages with a simulation key, which can be read back from either wire format. */
import type { QueueEntry } from '../../src/queue/queue.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { requestBytes, toStoredV2 } from '../../src/webhook/encoder.ts';
import type { Policy } from './profiles.ts';
import type { MessagePlan } from './scenario.ts';

/** An argument of `send`. */
export interface GivenMessage {
  readonly message_type: string;
  readonly message: object;
  readonly message_id?: string | undefined;
}

interface Content {
  readonly key: string;
  readonly applicationId: string;
  readonly text: string;
}

const CONTENTS: Readonly<Record<MessagePlan['kind'], (of: Content) => GivenMessage>> = {
  security_event: ({ key, applicationId, text }) => {
    const ids = { event_id: key, application_id: applicationId };
    return sampleMessageToSend('security_event', {
      message: { ...ids, humanized_description: text },
    });
  },
  security_response: ({ key, applicationId, text }) => {
    const application = { id: applicationId, name: text };
    const message = { application, playbook: { name: 'Block IPs', id: key } };
    return sampleMessageToSend('security_response', { message });
  },
  http_scan: ({ key, applicationId }) => {
    const message = { incident_thread: key, application_id: applicationId };
    return sampleMessageToSend('http_scan', { message });
  },
};

export function compose(
  plan: MessagePlan,
  key: string,
  { applicationId, policy }: { readonly applicationId: string; readonly policy: Policy },
): GivenMessage {
  const withPad = (pad: number): GivenMessage => {
    const text = 'é'.repeat(pad / 2) + 'x'.repeat(pad % 2);
    const { message_type, message } = CONTENTS[plan.kind]({ key, applicationId, text });
    const hasId = plan.hasOwnId || plan.padBytes === 'all';
    return { message_type, message, ...(hasId ? { message_id: `own-${key}` } : {}) };
  };
  if (plan.padBytes !== 'all') return withPad(plan.padBytes);
  // Exactly as large as the largest request.
  const bare = { ...withPad(0), message_id: `own-${key}` };
  const bytes = requestBytes([{ stored: toStoredV2(bare), retryCount: 0 }]);
  return withPad(Math.max(0, Math.min(policy.maxBodyBytes, 5000) - bytes));
}

/** One element of a request, in either format. */
export interface WireElement {
  readonly message_id?: string;
  readonly api_version?: string;
  readonly date_created?: string;
  readonly retry_count?: number;
  readonly message?: WireContent;
  readonly svc_payload_type?: string;
}

interface WireContent {
  readonly event_id?: string;
  readonly application_id?: string;
  readonly application?: { readonly id?: string };
  readonly playbook?: { readonly id?: string };
  readonly incident_thread?: string;
  readonly id?: string;
}

export const isV1 = (element: WireElement): boolean => element.svc_payload_type !== undefined;

/** In format 1 the envelope is the message itself. */
const contentOf = (element: WireElement): WireContent =>
  isV1(element) ? (element as WireContent) : (element.message ?? {});

export function keyOf(element: WireElement): string {
  const { event_id, playbook, incident_thread, id } = contentOf(element);
  return event_id ?? playbook?.id ?? incident_thread ?? id ?? '';
}

/** Reads the key from the stored bytes, which lack the date and retry count of format 2. */
export function keyOfEntry({ stored }: QueueEntry): string {
  const { bytes, format, countAt } = stored;
  if (format === 1) return keyOf(JSON.parse(bytes.toString()) as object);
  const text = `${bytes.subarray(0, countAt).toString()}0${bytes.subarray(countAt).toString()}`;
  return keyOf(JSON.parse(text) as object);
}

export function applicationIdOf(element: WireElement): string {
  const { application_id, application } = contentOf(element);
  return application_id ?? application?.id ?? '';
}
