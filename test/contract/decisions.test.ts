import { describe, expect, it } from 'vitest';
import { caseOf } from './cases/case.ts';
import { DECISIONS } from './cases/decisions.ts';
import { differences } from './cases/judge.ts';

describe('every decision on shapes holds in all four modes', () => {
  it.each(DECISIONS.map(({ title, cases }) => [title, cases] as const))('%s', (_title, cases) => {
    expect(cases.map(caseOf).flatMap(differences)).toEqual([]);
  });
});
