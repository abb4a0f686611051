import { describe, expect, test } from 'vitest';
import {
  ATTACK,
  INCIDENT,
  NOTHING_FLUSHED,
  openReporter,
  openSelectingReporter,
} from './open-reporter.ts';

/** Its application gets what `waf` has detected. */
const selecting = () => openSelectingReporter({ modules: { waf: true } });

describe('a derived reporter', () => {
  test('reports its module, unless a call names another', async () => {
    const { reporter } = await selecting();
    const skipped = { outcome: 'skipped', reason: 'module-not-selected' };
    const waf = reporter.with({ module: 'waf' });
    expect(await waf.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
    expect(await waf.incident(INCIDENT).settled).toEqual({ outcome: 'delivered' });
    expect(await waf.attack(ATTACK, { module: 'rasp' }).settled).toEqual(skipped);
    const rasp = waf.with({ module: 'rasp' });
    expect(await rasp.attack(ATTACK).settled).toEqual(skipped);
    expect(await rasp.attack(ATTACK, { module: 'waf' }).settled).toEqual({ outcome: 'delivered' });
    expect(await waf.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
  });

  test('shares the channels and counters of its parent, and is closed with it', async () => {
    const { reporter, records } = await selecting();
    const waf = reporter.with({ module: 'waf' });
    expect('close' in waf || Symbol.asyncDispose in waf).toBe(false);
    waf.attack(ATTACK);
    reporter.userLogin({ success: true });
    expect(records()).toHaveLength(2);
    expect(await waf.stats()).toEqual(await reporter.stats());
    expect((await waf.stats()).reported).toBe(2);
    expect(await waf.flush()).toEqual({ ...NOTHING_FLUSHED, delivered: 1 });
    await reporter.close();
    const closed = { outcome: 'rejected', reason: 'ERR_REPORTER_CLOSED' };
    expect(await waf.attack(ATTACK).settled).toEqual(closed);
  });

  test('passes the caller’s context to onRejected', () => {
    const contexts: unknown[] = [];
    const { reporter } = openReporter({ onRejected: ({ context }) => contexts.push(context) });
    const context = { module: 'rasp' };
    reporter.with({ module: 'waf' }).attack({ ruleset: '' }, context);
    reporter.with({ module: 'waf' }).attack({ ruleset: '' });
    expect(contexts).toEqual([context, {}]);
    expect(contexts[0]).toBe(context);
  });

  test.each([
    [undefined, []],
    [{ module: '' }, ['module']],
    [{ module: 7 }, ['module']],
    [{ modul: 'waf' }, ['modul']],
  ])('is rejected for invalid options: %j', (options, path) => {
    const { reporter } = openReporter();
    expect(() => reporter.with(options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }),
    );
  });
});
