/** From the rows of the store to what is kept in memory, when it is opened and after a failed write. */
import { SecurityEventError } from '../../errors.ts';
import type { Moment } from '../in-process/moment.ts';
import type { LevelApplication, LiveClaim, TakenMessage } from './application.ts';
import type { Change, StoredClaim } from './change.ts';
import { LevelContent, type LoadOptions, type Meta, NEW_STORE } from './content.ts';
import {
  againKey,
  applicationOf,
  EVERYTHING,
  freshRange,
  lastOf,
  metaKey,
  rangeOf,
} from './keys.ts';
import { contentKey, untouched } from './reading.ts';
import type { Store } from './store.ts';
import { decodeAgain, decodeContent, decodeJson } from './values.ts';

/** What was written last of the store's own row. Where it cannot be had, the store is suspect. */
export async function readMeta(store: Store, folder: string): Promise<Meta> {
  // Before anything is taken for damage: what is another version's is not to be touched.
  refuseOtherVersion(await store.getRaw(metaKey()), folder);
  const value = await store.get(metaKey());
  if (value === undefined) {
    for await (const rows of store.chunks(EVERYTHING, 1)) {
      if (rows.length > 0) store.folder.suspect('counts');
    }
    return NEW_STORE;
  }
  const meta = decodeJson<Meta>(value);
  if (meta.form === NEW_STORE.form) return meta;
  throw otherVersion(folder);
}

/** Rows had no checksum before there was a form 2, nor need those of a later one have it there. */
function refuseOtherVersion(row: Buffer | undefined, folder: string): void {
  if (row === undefined) return;
  try {
    if (decodeJson<Partial<Meta> | null>(row)?.form === undefined) return;
  } catch {
    return;
  }
  throw otherVersion(folder);
}

function otherVersion(folder: string): SecurityEventError {
  const detail = `${folder} was written by another version of this package`;
  return new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}

/** All applications, and what waits of them counted as room. */
export async function loadContent(
  store: Store,
  meta: Meta,
  options: LoadOptions,
): Promise<LevelContent> {
  const content = new LevelContent(meta, options);
  for await (const entry of store.entries(rangeOf('application'))) content.load(entry);
  return content;
}

/**
 * What becomes of the claims in the store. Those of this process, `live`, go on. One that this
 * process began and never handed out was not sent. Those of an earlier process count as sent (law 2):
 * it may have died with the answer on its way; and they are due at once, since nobody holds them.
 */
export async function takeOverClaims(
  store: Store,
  change: Change,
  live: ReadonlyMap<string, LiveClaim> | undefined,
): Promise<void> {
  const { content } = change;
  for await (const [key, value] of store.entries(rangeOf('claim'))) {
    const application = content.numbered(applicationOf(key));
    if (application === undefined) continue;
    const claim = decodeJson<StoredClaim>(value);
    const known = live?.get(claim.id);
    if (known !== undefined) {
      application.claim = { ...known, application, isEnding: false, isCounted: true };
      continue;
    }
    const messages = await readClaimed(store, application, claim);
    change.endClaim(application);
    if (live !== undefined) {
      const fresh = { from: claim.from, to: claim.to };
      const { id } = claim;
      change.putBack(application, {
        id,
        application,
        messages,
        fresh,
        endsAtMs: 0,
        isHandedOut: false,
        isEnding: true,
        isCounted: false,
      });
    } else {
      for (const message of messages) {
        change.waitAgain(application, message, { ...message, sends: message.sends + 1 });
      }
    }
  }
}

async function readClaimed(
  store: Store,
  { number }: LevelApplication,
  claim: StoredClaim,
): Promise<TakenMessage[]> {
  const messages: TakenMessage[] = [];
  for await (const [key, value] of store.entries(freshRange(number, claim.from, claim.to))) {
    const content = decodeContent(value);
    messages.push(untouched(content, lastOf(key)));
  }
  const rows = await store.getMany(
    claim.again.map(([dueMs, sequence]) => againKey(number, dueMs, sequence)),
  );
  for (const [index, row] of rows.entries()) {
    const [dueMs, sequence] = claim.again[index] as readonly [number, number];
    const again = row && decodeAgain(row);
    if (again === undefined) continue;
    const value = await store.get(contentKey(number, sequence, again.isBrought));
    if (value === undefined) continue;
    messages.push({ ...again, content: decodeContent(value), sequence, dueMs, isAgain: true });
  }
  return messages;
}

/** Every application has its turn, and what waits takes its room. */
export function placeAll(content: LevelContent, at: Moment): void {
  for (const application of content.all()) {
    const claimed = application.claim?.messages.length ?? 0;
    content.room.hold(application.waiting + claimed, application.pendingBytes);
    content.place(application, at);
  }
}
