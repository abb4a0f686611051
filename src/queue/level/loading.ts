/** The folder as it is read when it is opened: as it was counted, or, where it is damaged, counted anew. */
import { SecurityEventError } from '../../errors.ts';
import type { Moment } from '../in-process/moment.ts';
import type { LevelApplication, LiveClaim } from './application.ts';
import { Change } from './change.ts';
import type { LevelContent, LoadOptions, Meta } from './content.ts';
import { type Finding, mend } from './mending.ts';
import { loadContent, takeOverClaims } from './recovery.ts';
import type { Operation, Store } from './store.ts';

/** What was read of the folder, and what is to be written of it before it counts. */
export interface Loaded {
  readonly content: LevelContent;
  readonly operations: readonly Operation[];
  /** Of what was damaged. */
  readonly finding: Finding | undefined;
  /** None has come since. */
  readonly suspicions: number;
}

export interface Loading extends LoadOptions {
  /** Claims that are out in this process; `undefined` when it opens the folder for the first time. */
  readonly live: ReadonlyMap<string, LiveClaim> | undefined;
  readonly now: () => Moment;
}

export async function load(store: Store, meta: Meta, loading: Loading): Promise<Loaded> {
  const { signs, suspicions } = store.folder;
  const { now, live } = loading;
  if (signs.size === 0) {
    const change = new Change(await loadContent(store, meta, loading), now());
    await takeOverClaims(store, change, live);
    change.apply();
    // Rows of a claim that is taken over may be gone, too, and nothing else looks for them.
    if (![...change.content.all()].every(addsUp)) store.folder.suspect('counts');
    if (signs.size === 0) return { ...contentOf(change, now()), finding: undefined, suspicions };
  }
  mustHaveFiles(store);
  // Claims of before have names of their own also where nobody knows how often it was opened.
  const runs = meta.runs === 0 ? now().epochMs : meta.runs;
  const claims = live ?? new Map<string, LiveClaim>();
  const mended = await mend(store, { ...meta, runs }, { ...loading, live: claims });
  mustHaveFiles(store);
  const change = new Change(mended.content, now());
  await takeOverClaims(store, change, claims);
  change.apply();
  const { finding } = mended;
  return { ...contentOf(change, now()), finding, suspicions: store.folder.suspicions };
}

/** D70 */
function addsUp(application: LevelApplication): boolean {
  const { accepted, delivered, pending, dead, discarded } = application.ledger();
  const gone = Object.values(discarded).reduce((sum, count) => sum + count, 0);
  return accepted === delivered + pending + dead + gone;
}

/** Where reading has found damage, what is left is read again, from new files. */
function mustHaveFiles({ folder }: Store): void {
  if (folder.areFilesDamaged) throw new SecurityEventError('ERR_QUEUE_FAILED');
}

const contentOf = ({ content, operations }: Change, { nowMs }: Moment) => ({
  content,
  operations: [...operations, ...content.rows(nowMs)],
});
