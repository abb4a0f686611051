/** What is kept in memory, counted anew from the rows that are left, and what is gone by that count. */
import type { LiveClaim, StoredApplication } from './application.ts';
import type { LoadOptions, Meta } from './content.ts';
import { LevelContent } from './content.ts';
import type { QueueDamage } from './damage.ts';
import { applicationKey, storable } from './keys.ts';
import type { Store } from './store.ts';
import { type FoundApplication, Survey } from './survey.ts';
import { encodeJson } from './values.ts';

export type Finding = Pick<QueueDamage, 'lost' | 'reappeared' | 'dueAtOnce' | 'applications'>;

export interface Mended {
  readonly content: LevelContent;
  readonly finding: Finding;
}

/** `live` are the claims that are out in this process. */
export async function mend(
  store: Store,
  meta: Meta,
  { live, ...options }: LoadOptions & { readonly live: ReadonlyMap<string, LiveClaim> },
): Promise<Mended> {
  await store.folder.beginMending();
  const survey = new Survey(store, live);
  await survey.run();
  const { lastDeath, lastNumber } = survey;
  const content = new LevelContent(
    {
      ...meta,
      lastDeath: Math.max(meta.lastDeath, lastDeath),
      lastApplication: Math.max(meta.lastApplication, lastNumber),
    },
    options,
  );
  const applications = [];
  const found = [...survey.applications.values()];
  for (const one of found) {
    const recounted = recount(one);
    // Of one of which nothing is there but its number, nothing is known.
    if (recounted === undefined) continue;
    const { stored, lost, reappeared } = recounted;
    content.load([applicationKey(one.number), encodeJson(stored)]);
    if (lost + reappeared > 0) applications.push({ applicationId: stored.id, lost, reappeared });
  }
  for (const application of content.all()) content.changed(application);
  const lost = applications.reduce((sum, one) => sum + one.lost, 0);
  const reappeared = applications.reduce((sum, one) => sum + one.reappeared, 0);
  const dueAtOnce = found.reduce((sum, one) => sum + one.dueAtOnce, 0);
  return { content, finding: { lost, reappeared, dueAtOnce, applications } };
}

interface Recounted {
  readonly stored: StoredApplication;
  readonly lost: number;
  readonly reappeared: number;
}

/** What was counted before and is nowhere is lost; more than was counted was accepted once more. */
function recount(found: FoundApplication): Recounted | undefined {
  const { id, stored: before, head, tail, dead, deadBytes } = found;
  if (id === undefined) return undefined;
  const { freshCount, freshDueMs, pendingBytes } = found;
  const { againCount, ...again } = countWaits(found);
  const { delivered = 0, discarded = {} } = before ?? {};
  const claimed = found.live?.messages.length ?? 0;
  const there = freshCount + againCount + claimed + dead;
  const over = Object.values(discarded).reduce((sum, count) => sum + count, delivered);
  const lost = Math.max(0, (before?.accepted ?? 0) - over - there);
  const accepted = over + there + lost;
  const stored: StoredApplication = {
    id,
    row: before?.row ?? null,
    notBeforeMs: before?.notBeforeMs ?? 0,
    tail: Math.max(head, tail),
    head,
    freshCount,
    againCount,
    ...(freshDueMs === undefined ? {} : { freshDueMs }),
    ...again,
    pendingBytes,
    deadBytes,
    accepted,
    delivered,
    dead,
    discarded: lost === 0 ? discarded : { ...discarded, lost: (discarded.lost ?? 0) + lost },
  };
  // Without its own row nothing is known of what was accepted before.
  return { stored, lost, reappeared: before === undefined ? 0 : accepted - before.accepted };
}

function countWaits(found: FoundApplication) {
  let againCount = 0;
  let againDueMs = Number.POSITIVE_INFINITY;
  let againOldestMs = Number.POSITIVE_INFINITY;
  for (const [sequence, { dueMs, acceptedMs }] of found.waits) {
    againOldestMs = Math.min(againOldestMs, storable(acceptedMs));
    if (found.holds(sequence)) continue;
    againCount += 1;
    againDueMs = Math.min(againDueMs, dueMs);
  }
  return {
    againCount,
    ...(againCount === 0 ? {} : { againDueMs }),
    ...(found.waits.size === 0 ? {} : { againOldestMs }),
  };
}
