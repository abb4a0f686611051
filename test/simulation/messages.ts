/** Messages with a simulation key, which can be read back from either wire format. */
import type { QueueEntry } from '../../src/queue/queue.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { requestBytes, toStoredV2 } from '../../src/webhook/encoder.ts';
import type { MessagePlan, Policy } from './scenario.ts';

/** An argument of `send`. */
export interface GivenMessage {
  readonly message_type: string;
  readonly message: object;
  readonly message_id?: string;
}

export interface ComposedMessage {
  readonly key: string;
  readonly given: GivenMessage;
}

export function compose(
  plan: MessagePlan,
  key: string,
  at: { readonly applicationId: string; readonly policy: Policy },
): ComposedMessage {
  const { applicationId, policy } = at;
  const id = plan.hasOwnId ? { message_id: `own-${key}` } : {};
  if (plan.padBytes !== 'all') {
    return { key, given: { ...content(plan, { key, applicationId, pad: plan.padBytes }), ...id } };
  }
  // Exactly as large as the largest request.
  const bare = { message_id: `own-${key}`, ...content(plan, { key, applicationId, pad: 0 }) };
  const bytes = requestBytes([{ stored: toStoredV2(bare), retryCount: 0 }]);
  const pad = Math.max(0, Math.min(policy.maxBodyBytes, 5000) - bytes);
  const given = { ...content(plan, { key, applicationId, pad }), message_id: bare.message_id };
  return { key, given };
}

interface Content {
  readonly key: string;
  readonly applicationId: string;
  readonly pad: number;
}

function content({ kind }: MessagePlan, of: Content): GivenMessage {
  return CONTENTS[kind](of);
}

const textOf = ({ pad }: Content): string => 'é'.repeat(pad / 2) + 'x'.repeat(pad % 2);

const CONTENTS: Readonly<Record<MessagePlan['kind'], (of: Content) => GivenMessage>> = {
  security_event: (of) => {
    const { key, applicationId } = of;
    const ids = { event_id: key, application_id: applicationId };
    const message = { ...ids, humanized_description: textOf(of) };
    return withoutId(sampleMessageToSend('security_event', { message }));
  },
  security_response: (of) => {
    const application = { id: of.applicationId, name: textOf(of) };
    const message = { application, playbook: { name: 'Block IPs', id: of.key } };
    return withoutId(sampleMessageToSend('security_response', { message }));
  },
  http_scan: ({ key, applicationId }) => {
    const message = { incident_thread: key, application_id: applicationId };
    return withoutId(sampleMessageToSend('http_scan', { message }));
  },
};

const withoutId = ({ message_type, message }: Omit<GivenMessage, 'message_id'>): GivenMessage => ({
  message_type,
  message,
});

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
