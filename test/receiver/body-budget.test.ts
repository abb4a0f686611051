/** Timeouts of bodies, with a fake clock. */
import { expect, test } from 'vitest';
import { BodyBudget } from '../../src/receiver/body-budget.ts';
import { createFakeClock } from '../../src/testing/index.ts';

test('refuses each body after its own timeout, but none that has ended', async () => {
  const clock = createFakeClock();
  const budget = new BodyBudget({ maxBytes: 100, timeoutMs: 1000 }, clock);
  const refused: string[] = [];
  const begin = (name: string) => {
    const reading = budget.open(10);
    reading.onRefused(() => refused.push(`${name} ${reading.refusal}`));
    return reading;
  };
  begin('first').take(10);
  await clock.advance(400);
  const ended = begin('ended');
  begin('second');
  await clock.advance(599);
  expect(refused).toEqual([]);
  await clock.advance(1);
  expect(refused).toEqual(['first body-late']);
  ended.end();
  await clock.advance(400);
  expect(refused).toEqual(['first body-late', 'second body-late']);
  await clock.advance(10_000);
  const later = begin('later');
  await clock.advance(999);
  expect(later.take(1)).toBe(true);
  await clock.advance(1);
  expect([refused.at(-1), later.take(1)]).toEqual(['later body-late', false]);
});
