/** The simulated HTTP client of one process: posts to simulated receivers. */

import type { Poster, PosterOptions, PostRequest } from '../../src/webhook/http/client.ts';
import type { AttemptResult } from '../../src/webhook/outcome.ts';
import { type Attempt, isSuccess } from './attempt.ts';
import { checkRequest } from './check-request.ts';
import type { WireElement } from './messages.ts';
import { answerOf, retryAfterOf } from './receiver.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

const never = (): Promise<never> => new Promise(() => {});

export function createSimulatedPoster(
  world: World,
  { process, options }: { readonly process: SenderProcess; readonly options: PosterOptions },
): Poster {
  const closed = new AbortController();
  const ended = new AbortController();
  for (const signal of [closed.signal, options.signal]) {
    signal?.addEventListener('abort', () => ended.abort());
  }
  return {
    post: (request) =>
      process.isAlive
        ? post({ world, process, request, closed: closed.signal, ended: ended.signal })
        : never(),
    close: () => {
      closed.abort();
      return Promise.resolve();
    },
  };
}

interface Posting {
  readonly world: World;
  readonly process: SenderProcess;
  readonly request: PostRequest;
  readonly closed: AbortSignal;
  /** Aborted when the poster closes or its sender aborts. */
  readonly ended: AbortSignal;
}

async function post(posting: Posting): Promise<AttemptResult> {
  const { world, process, request, closed } = posting;
  const elements = JSON.parse(request.body.toString()) as WireElement[];
  const applicationId = new URL(request.url).hostname.replace('.example', '');
  world.check(
    !process.isClosed && !closed.aborted,
    'nothing-after-close',
    () => 'a request after close',
  );
  const held = world.expected.application(applicationId).claim;
  if (held?.claimedBy !== process.key) {
    world.check(false, 'claimed-messages', () => `${process.key} has no claim of ${applicationId}`);
    return await never();
  }
  checkRequest(world, { applicationId, elements, request, held });
  const attempt = begin(posting, { applicationId, elements });
  held.isPosted = true;
  world.attempts.set(held.claim.id, attempt);
  for (const message of held.messages) message.posts += 1;
  world.occurredFaults.add(attempt.fault);
  world.inFlight.add(attempt);
  process.runPlanned('attempt');
  const result = await runReaction(posting, attempt);
  world.inFlight.delete(attempt);
  return result;
}

function begin(
  { world, process, request }: Posting,
  {
    applicationId,
    elements,
  }: { readonly applicationId: string; readonly elements: readonly WireElement[] },
): Attempt {
  const messages = world.expected.application(applicationId).claim?.messages ?? [];
  const bytes = request.body.length;
  const { fault, reaction, phase } = answerOf(world, { applicationId, messages, bytes });
  // Leases of claims from before a forward clock jump may have expired.
  const others = [...world.inFlight].filter(
    (one) => one.applicationId === applicationId && one.startedAt > world.setForwardAt,
  );
  world.check(others.length === 0, 'one-in-flight', () => `${applicationId}: ${others.length + 1}`);
  world.attemptCount += 1;
  const attempt: Attempt = {
    number: world.attemptCount,
    sentBy: process.key,
    applicationId,
    destination: world.destination(applicationId),
    startedAt: world.now,
    bytes,
    messages,
    fault,
    reaction,
    retryAfter: { header: undefined, waitMs: undefined },
    phase,
    hasHeaders: false,
    end: undefined,
    isReopened: false,
  };
  const keys =
    elements.length > 6 ? `${elements.length} messages` : messages.map(({ key }) => key).join(' ');
  world.log(
    () =>
      `POST ${attempt.number} ${applicationId} by ${process.key}: ${keys}, ${bytes} B, fault ${fault}`,
  );
  return attempt;
}

/** Plays the receiver's reaction over time, until it ends or is aborted. */
async function runReaction(
  { world, process, ended }: Posting,
  attempt: Attempt,
): Promise<AttemptResult> {
  const { reaction } = attempt;
  const { headersMs = reaction.endMs, endMs } = reaction;
  for (const ms of new Set([headersMs, endMs])) {
    const leftMs = attempt.startedAt + ms - world.now;
    if (leftMs > 0) await world.clock.sleep(leftMs, ended);
    if (!process.isAlive) return await never();
    if (ended.aborted) break;
    if (ms === reaction.headersMs) receiveHeaders(world, attempt);
  }
  return resultOf(world, attempt, ended.aborted);
}

function receiveHeaders(world: World, attempt: Attempt): void {
  const { status = 0 } = attempt.reaction;
  attempt.hasHeaders = true;
  attempt.retryAfter = retryAfterOf(attempt.phase, status, world.clock.now());
  if (isSuccess({ status })) for (const message of attempt.messages) message.confirmed += 1;
}

function resultOf(world: World, attempt: Attempt, isStopped: boolean): AttemptResult {
  const { reaction, hasHeaders, retryAfter, startedAt } = attempt;
  const timings = { totalMs: world.now - startedAt };
  const { status } = reaction;
  const isAborted = isStopped && !hasHeaders;
  attempt.end = {
    at: world.now,
    isAborted,
    ...(hasHeaders && status !== undefined ? { status } : {}),
  };
  world.log(
    () =>
      `     ${attempt.number} ends: ${isAborted ? 'aborted' : (status ?? reaction.failure)} ${retryAfter.header ?? ''}`,
  );
  if (hasHeaders && status !== undefined) {
    return { kind: 'response', status, retryAfter: retryAfter.header, timings };
  }
  const code = isAborted ? 'aborted' : (reaction.failure ?? 'network');
  return { kind: 'failure', code, detail: 'simulated', timings };
}
