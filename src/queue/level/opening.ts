/** Opens the store; where its files are damaged, a new one with what is intact of them. */
import type { DamageSign } from './damage.ts';
import { hasDroppedWrites, isNew, isOfCutTable, lacksNames } from './files.ts';
import type { Guard } from './guard.ts';
import {
  chainOf,
  create,
  ENCODINGS,
  has,
  isLocked,
  type Level,
  type LevelClass,
} from './level-class.ts';
import { salvage, type Unreadable } from './salvage.ts';

export interface OpenedStore {
  readonly level: Level;
  readonly signs: readonly DamageSign[];
  readonly unreadable: Unreadable;
}

/**
 * Rejects where another process has the folder, or it cannot be read for another reason than damage.
 * With `isDamaged` reading has found that its files are.
 */
export async function openStore(
  Class: LevelClass,
  folder: string,
  { guard, isDamaged }: { readonly guard: Guard; readonly isDamaged: boolean },
): Promise<OpenedStore> {
  const isUnfinished = await guard.isThere();
  if (isUnfinished) await guard.take(Class);
  else {
    // Also where damage is known: what another process has must not be touched.
    const level = await open(Class, folder).catch(async (error: unknown) => {
      if (await isDamage(error, folder)) return undefined;
      throw error;
    });
    if (level !== undefined && !isDamaged) {
      const signs = (await hasDroppedWrites(folder)) ? (['writes'] as const) : [];
      return { level, signs, unreadable: {} };
    }
    await level?.close();
    await guard.take(Class);
  }
  const from = await guard.setAside();
  const level = await create(Class, folder);
  try {
    const unreadable = await salvage(level, from);
    return { level, signs: [isUnfinished ? 'unfinished' : 'files'], unreadable };
  } catch (error) {
    await level.close();
    throw error;
  }
}

async function open(Class: LevelClass, folder: string): Promise<Level> {
  // Where only the file is missing that names the others, a new store would delete those.
  if (await isNew(folder)) return await create(Class, folder);
  const level = new Class(folder, { ...ENCODINGS, createIfMissing: false });
  await level.open();
  return level;
}

/** Whether that is why the store threw it, when it was opened, read or written. */
export async function isDamage(error: unknown, folder: string): Promise<boolean> {
  if (isLocked(error)) return false;
  if (has(error, 'LEVEL_CORRUPTION')) return true;
  // An error of input or output passes, and is no reason to sort files out: what they are decides.
  const message = chainOf(error)
    .map((one) => String(one.message))
    .join(' ');
  try {
    return (await lacksNames(folder)) || (await isOfCutTable(folder, message));
  } catch {
    return false;
  }
}
