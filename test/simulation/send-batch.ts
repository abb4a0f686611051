/** Sends a batch with a process and checks the result. */

import type { SendResult } from '../../src/delivery/sender.ts';
import { SecurityEventError } from '../../src/errors.ts';
import { compose, type GivenMessage } from './messages.ts';
import type { Batch, MessagePlan } from './scenario.ts';
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

interface BatchMessage {
  readonly key: string;
  readonly given: GivenMessage;
  readonly plan: MessagePlan;
  readonly applicationId: string;
}

export async function sendBatch(world: World, process: SenderProcess, batch: Batch): Promise<void> {
  const { policy, applications } = world.scenario;
  const batchMessages = batch.messages.map((plan): BatchMessage => {
    const applicationId = applications[plan.application]?.id ?? '';
    const key = `k${world.given.size + 1}`;
    const given = compose(plan, key, { applicationId, policy });
    const message = JSON.stringify(given.message);
    world.given.set(key, { isPoison: plan.isPoison, message });
    return { key, given, plan, applicationId };
  });
  const messages = batchMessages.map((one) => one.given);
  world.log(
    () =>
      `send ${batchMessages.map(({ key, applicationId }) => `${key}>${applicationId}`).join(' ')}`,
  );
  const wasClosed = closedApplications(world);
  try {
    const selection = batch.module === undefined ? {} : { module: batch.module };
    const result = await process.call((sender) => sender.send(messages as never, selection));
    if (process.isAlive) checkAccepted(world, { batchMessages, result, batch, wasClosed });
  } catch (error) {
    if (process.isAlive) checkRejected(world, batchMessages, error);
  }
  // Later changes by the caller must have no effect.
  for (const { message } of messages)
    Object.assign(message, { event_id: 'changed', application_id: 'changed' });
}

const closedApplications = (world: World): ReadonlySet<string> =>
  new Set(
    [...world.expected.applications.values()]
      .filter(({ health }) => health === 'closed')
      .map(({ id }) => id),
  );

interface Sent {
  readonly batchMessages: readonly BatchMessage[];
  readonly result: SendResult;
  readonly batch: Batch;
  /** Applications that were closed before the call. */
  readonly wasClosed: ReadonlySet<string>;
}

function checkAccepted(world: World, { batchMessages, result, batch, wasClosed }: Sent): void {
  const byKey = keysOf(world);
  const skipped = new Map(result.skipped.map(({ index, reason }) => [index, reason]));
  const accepted = batchMessages.filter((_, index) => !skipped.has(index));
  const areIdsRight = accepted.every(({ key, given: { message_id } }, index) => {
    const acceptedId = result.accepted[index];
    return byKey.get(key)?.messageId === acceptedId && (message_id ?? acceptedId) === acceptedId;
  });
  world.check(
    areIdsRight && accepted.length === result.accepted.length,
    'send-result',
    () =>
      `accepted ${result.accepted.join(' ')} instead of ${accepted.map(({ key }) => key).join(' ')}`,
  );
  for (const [index, one] of batchMessages.entries()) {
    const reason = skipped.get(index);
    const isClosed =
      wasClosed.has(one.applicationId) || closedApplications(world).has(one.applicationId);
    const expected = routeSkip(world, one, batch) ?? (isClosed ? 'destination-closed' : undefined);
    const isReopened = expected === 'destination-closed' && reason === undefined;
    world.check(
      reason === expected || isReopened,
      'send-result',
      () => `${one.key}: skip reason ${reason} instead of ${expected}`,
    );
    world.check(
      reason === undefined || !byKey.has(one.key),
      'send-result',
      () => `${one.key} was skipped for ${reason}, but is in the queue`,
    );
  }
}

/** D60 */
function routeSkip(
  world: World,
  { plan, applicationId }: BatchMessage,
  { module }: Batch,
): string | undefined {
  const { modules, playbooks } = world.settingsOf(applicationId).plan.settings;
  if (module !== undefined && modules !== undefined && modules[module] !== true)
    return 'module-not-selected';
  const isResponse = plan.kind === 'security_response';
  return isResponse && playbooks?.['Block IPs'] === false ? 'playbook-not-selected' : undefined;
}

function checkRejected(world: World, sent: readonly BatchMessage[], error: unknown): void {
  const byKey = keysOf(world);
  const code = error instanceof SecurityEventError ? error.code : String(error);
  world.check(
    EXPECTED_CODES.has(code) && sent.every(({ key }) => !byKey.has(key)),
    'send-result',
    () =>
      `send rejects with ${code}, and ${sent.filter(({ key }) => byKey.has(key)).length} were accepted`,
  );
}

const EXPECTED_CODES: ReadonlySet<string> = new Set([
  'ERR_QUEUE_FULL',
  'ERR_QUEUE_FAILED',
  'ERR_QUEUE_CLOSED',
  'ERR_SENDER_CLOSED',
  'ERR_SETTINGS_FAILED',
  'ERR_UNKNOWN_APPLICATION',
  'ERR_MESSAGE_TOO_LARGE',
]);

function keysOf(world: World): ReadonlyMap<string, Tracked> {
  return new Map([...world.expected.messages.values()].map((message) => [message.key, message]));
}
