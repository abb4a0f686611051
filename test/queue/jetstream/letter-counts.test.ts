/** Dead letters that are counted without being listed each time. */
import { describe, expect, test } from 'vitest';
import { LetterCounts } from '../../../src/queue/jetstream/letter-counts.ts';
import { namesOf, tokenOf } from '../../../src/queue/jetstream/names.ts';
import { hasSoundServer } from '../../helpers/nats-server.ts';
import { bringLetters, startedServer } from './opened-processes.ts';

const started = async () => {
  const queue = await (await startedServer())();
  const { store, names } = queue.session;
  let lists = 0;
  const state = store.state.bind(store);
  store.state = (stream, subjects) => {
    if (stream === names.dead && subjects !== undefined) lists += 1;
    return state(stream, subjects);
  };
  const bring = (applicationId: string, count: number) => bringLetters(queue, applicationId, count);
  const dead = async () => {
    const { applications } = await queue.stats.read();
    return Object.fromEntries([...applications].map(([id, ledger]) => [id, ledger.dead]));
  };
  return { queue, bring, dead, lists: () => lists };
};

describe.runIf(hasSoundServer)('the counts of dead letters', () => {
  test('list them once, and read what has come since', async () => {
    const { bring, dead, lists } = await started();
    await bring('one', 3);
    expect(await dead()).toEqual({ one: 3 });
    expect(await dead()).toEqual({ one: 3 });
    await bring('two', 2);
    await bring('one', 1);
    expect(await dead()).toEqual({ one: 4, two: 2 });
    expect(lists()).toBe(1);
  });

  test('list them anew where some went, also where as many came', async () => {
    const { queue, bring, dead, lists } = await started();
    await bring('one', 3);
    await bring('two', 3);
    expect(await dead()).toEqual({ one: 3, two: 3 });
    await queue.letterEnds.purge({ applicationId: 'one' }, 'purged');
    await bring('two', 3);
    expect(await dead()).toEqual({ one: 0, two: 6 });
    expect(lists()).toBe(2);
  });
});

/** As the client lists: pages by place in order, the state of the last one. */
const pagedStore = (pageSize: number) => {
  const names = namesOf('p');
  let subjects: string[] = [];
  let last_seq = 0;
  let onPage: (() => void) | undefined;
  const page = () => ({ messages: subjects.length, last_seq });
  const store = {
    state: (_stream: string, filter?: unknown) => {
      let state = page();
      if (filter === undefined) return Promise.resolve(state);
      const found: Record<string, number> = {};
      let offset = 0;
      do {
        state = page();
        for (const subject of subjects.toSorted().slice(offset, offset + pageSize))
          found[subject] = 1;
        offset += pageSize;
        onPage?.();
      } while (offset < subjects.length);
      return Promise.resolve({ ...state, subjects: found });
    },
  };
  return {
    counts: new LetterCounts({ store, names } as never, () => ({}) as never),
    add: (applicationId: string) => {
      last_seq += 1;
      subjects.push(names.letter(tokenOf(applicationId), last_seq));
    },
    removeFirst: () => {
      subjects = subjects.toSorted().slice(1);
    },
    /** Once. */
    afterFirstPage: (change: () => void) => {
      onPage = () => {
        onPage = undefined;
        change();
      };
    },
  };
};

describe('dead letters that are listed in pages', () => {
  test.each(['goes', 'goes as another one comes'])('are listed anew where one %s', async (what) => {
    const { counts, add, removeFirst, afterFirstPage } = pagedStore(4);
    for (let one = 0; one < 4; one += 1) add('a');
    for (let one = 0; one < 4; one += 1) add('b');
    afterFirstPage(() => {
      removeFirst();
      if (what !== 'goes') add('b');
    });
    await counts.read();
    const read = await counts.read();
    expect([read.get(tokenOf('a')), read.get(tokenOf('b'))]).toEqual([3, what === 'goes' ? 4 : 5]);
  });
});
