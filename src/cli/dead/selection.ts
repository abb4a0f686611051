/** Which dead letters a command is about, and the walk through them in pages. */
import type { DeadMessage, DeadReason, WebhookSender } from '../../index.ts';
import type { OptionTable, OptionValues } from '../command.ts';
import { misuse } from '../failure.ts';
import { momentOf } from '../moment.ts';
import { durationOf, integerOf, wordOf } from '../option-values.ts';
import type { Terminal } from '../terminal.ts';

const REASONS = [
  'attempts-exhausted',
  'horizon-passed',
  'too-large',
  'destination-closed',
] as const satisfies readonly DeadReason[];

export const SELECTION_OPTIONS = {
  application: { type: 'string', value: 'ID', what: 'those of this application' },
  reason: { type: 'string', value: 'REASON', what: `those that died so: ${REASONS.join(', ')}` },
  since: {
    type: 'string',
    value: 'TIME',
    what: 'those that died since a moment (2026-11-22T08:00Z) or a time ago (3d)',
  },
  limit: { type: 'string', value: 'N', what: 'at most so many, the oldest (all)' },
} as const satisfies OptionTable;

export interface Selection {
  readonly applicationId?: string;
  readonly ids?: readonly string[];
  readonly reason?: DeadReason;
  /** Milliseconds since the epoch. */
  readonly sinceMs?: number;
  readonly limit: number;
}

/** A moment, or how long ago it was. */
const sinceOf = (text: string, nowMs: number): number =>
  /^\d{4}-/.test(text) ? momentOf('since', text) : nowMs - durationOf('since', text);

/** @throws CommandFailure with exit code 2 */
export function selectionOf(
  options: OptionValues<typeof SELECTION_OPTIONS>,
  words: readonly string[],
  { clock }: Terminal,
): Selection {
  const { application, reason, since, limit } = options;
  if (words.length > 0 && limit !== undefined)
    throw misuse('expected ids or --limit, and not both');
  return {
    ...(application === undefined ? {} : { applicationId: application }),
    ...(words.length === 0 ? {} : { ids: [...new Set(words)] }),
    ...(reason === undefined ? {} : { reason: wordOf('reason', reason, REASONS) }),
    ...(since === undefined ? {} : { sinceMs: sinceOf(since, clock.now()) }),
    limit:
      limit === undefined
        ? Number.POSITIVE_INFINITY
        : integerOf('limit', limit, [1, Number.MAX_SAFE_INTEGER]),
  };
}

const isMeant = ({ reason, diedAt }: DeadMessage, selection: Selection): boolean =>
  (selection.reason === undefined || reason === selection.reason) &&
  (selection.sinceMs === undefined || diedAt >= selection.sinceMs);

/** So much is in memory: messages of a megabyte are rare, and this many of them still bearable. */
const PAGE = 200;

export interface Page {
  readonly lookedAt: readonly DeadMessage[];
  /** Of these, what all filters mean. */
  readonly selected: readonly DeadMessage[];
}

/**
 * In pages, oldest first. `most` ends the walk: where a service delivers meanwhile, what is replayed may
 * die again, behind the rest, and must not be replayed for ever.
 */
export async function* walk(
  source: Pick<WebhookSender, 'deadLetters'>,
  selection: Selection,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page> {
  const { applicationId, ids } = selection;
  const filter = {
    ...(applicationId === undefined ? {} : { applicationId }),
    ...(ids === undefined ? {} : { ids }),
  };
  let [count, left] = [0, selection.limit];
  let after: string | undefined;
  do {
    const limit = Math.min(PAGE, most - count);
    if (limit <= 0) return;
    const query = { ...filter, limit, ...(after === undefined ? {} : { after }) };
    const { items, next } = await source.deadLetters(query);
    count += items.length;
    const selected = items.filter((letter) => isMeant(letter, selection)).slice(0, left);
    left -= selected.length;
    yield { lookedAt: items, selected };
    after = next;
  } while (after !== undefined && left > 0);
}
