/** Checks a request when it is sent. */
import type { PostRequest } from '../../src/webhook/http/client.ts';
import { checkRate } from './check-rate.ts';
import type { ExpectedClaim } from './expected-state.ts';
import { applicationIdOf, isV1, keyOf, type WireElement } from './messages.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

/** D31 */
const MAX_MESSAGES = 1000;

export interface SentRequest {
  readonly applicationId: string;
  readonly elements: readonly WireElement[];
  readonly request: PostRequest;
  readonly held: ExpectedClaim;
}

export function checkRequest(world: World, sent: SentRequest): void {
  checkLimits(world, sent);
  checkWire(world, sent);
  checkDestination(world, sent);
  for (const [index, element] of sent.elements.entries()) {
    const message = sent.held.messages[index];
    world.check(
      message?.key === keyOf(element) && sent.held.messages.length === sent.elements.length,
      'claimed-messages',
      () => `element ${index} is ${keyOf(element)}, the claim has ${message?.key}`,
    );
    if (message !== undefined) checkElement(world, element, message);
  }
}

function checkLimits(world: World, { elements, request, applicationId }: SentRequest): void {
  const { maxMessages, maxBodyBytes } = world.scenario.policy;
  const { length } = elements;
  world.check(
    length >= 1 &&
      length <= Math.min(MAX_MESSAGES, maxMessages) &&
      request.body.length <= maxBodyBytes,
    'request-limits',
    () => `${length} messages, ${request.body.length} bytes`,
  );
  const kinds = new Set(elements.map((one) => `${applicationIdOf(one)} ${isV1(one)}`));
  world.check(
    kinds.size === 1 && applicationIdOf(elements[0] as WireElement) === applicationId,
    'one-kind',
    () => [...kinds].join(', '),
  );
}

function checkWire(world: World, { applicationId, request }: SentRequest): void {
  const { headers, body, url } = request;
  const settings = world.settingsOf(applicationId);
  world.check(
    headers['X-Svc-Integrity'] === world.signature(body, applicationId) &&
      headers['Content-Type'] === 'application/json',
    'signature',
    () => `${applicationId}: ${JSON.stringify(headers)}`,
  );
  world.check(
    String(url) === settings.url && settings.fault === undefined,
    'destination',
    () => `${String(url)} instead of ${settings.url}, ${settings.fault ?? 'no fault'}`,
  );
}

function checkDestination(
  world: World,
  { applicationId, elements, request, held }: SentRequest,
): void {
  const { policy } = world.scenario;
  const url = String(request.url);
  // A new URL starts with fresh state.
  const isKnownUrl = held.destination.url === url;
  const destination = isKnownUrl ? held.destination : world.newDestination(applicationId);
  world.destinations.set(applicationId, destination);
  destination.url = url;
  const { health, isKnown, isOpen, pausedUntil } = destination;
  const { length } = elements;
  const detail = () => `${applicationId}: ${length} messages, ${request.body.length} bytes`;
  world.check(
    world.now >= pausedUntil,
    'pause',
    () => `${detail()}, paused until ${pausedUntil - world.startedAt}`,
  );
  world.check(
    health === 'healthy' || length <= policy.cautiousMaxMessages,
    'cautious',
    () => `${detail()} to a destination that is ${health}`,
  );
  world.check(!isOpen || length === 1, 'probes', detail);
  world.check(
    held.claim.state.health === health || !isKnown,
    'health',
    () => `${applicationId} was claimed as ${held.claim.state.health}, it is ${health}`,
  );
  checkRate(world, destination, held);
  const pace = destination.start(world.now);
  world.check(
    pace === undefined || pace.count <= pace.allowed + 1,
    'slow-start',
    () => `${applicationId}: ${pace?.count} requests where ${pace?.allowed} are allowed`,
  );
}

function checkElement(world: World, element: WireElement, message: Tracked): void {
  const { key, messageId, format, sends, posts, lostClaims, notBefore } = message;
  world.check(
    world.now >= notBefore,
    'retry-after',
    () => `${key} ${notBefore - world.now} ms early`,
  );
  const { message_id, date_created, retry_count, ...rest } = element;
  const content = JSON.stringify(format === 1 ? element : rest);
  message.content ??= content;
  world.check(
    (format === 1) === isV1(element) && message.content === content,
    'message-id',
    () => `${key}: ${content} instead of ${message.content}`,
  );
  if (format === 1) return;
  world.check(
    message_id === messageId && JSON.stringify(element.message) === world.given.get(key)?.message,
    'message-id',
    () => `${key}: ${message_id} instead of ${messageId}, ${content}`,
  );
  const wall = new Date(world.clock.now()).toISOString().replace('Z', '+00:00');
  world.check(date_created === wall, 'date-created', () => `${key}: ${date_created} at ${wall}`);
  const isExact = retry_count === posts || (lostClaims > 0 && retry_count === sends - 1);
  world.check(
    (retry_count ?? -1) >= posts && isExact && (retry_count ?? -1) <= posts + lostClaims,
    'retry-count',
    () => `${key}: ${retry_count} after ${posts} sends and ${lostClaims} lost claims`,
  );
}
