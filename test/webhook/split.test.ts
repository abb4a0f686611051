import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contract, messageToSend } from '../../src/contract/index.ts';
import {
  bodyBytes,
  elementBytes,
  encodeBody,
  formatTimestamp,
  storeV2,
} from '../../src/webhook/encoder.ts';
import { applicationOf, halve, splitRequests } from '../../src/webhook/split.ts';
import { DRAFTS, ELEMENTS } from '../contract/samples.ts';
import { anyCharacter } from '../helpers/any-character.ts';

interface Item {
  readonly index: number;
  readonly application: string | undefined;
  readonly bytes: number;
}

const LIMITS = { maxMessages: 1000, maxBytes: 1_048_576 };

function itemsOf(...items: readonly (readonly [application: string | undefined, bytes: number])[]) {
  return items.map(([application, bytes], index) => ({ index, application, bytes }));
}

const indices = (requests: readonly (readonly Item[])[]) =>
  requests.map((request) => request.map(({ index }) => index));

const split = (items: readonly Item[], limits = LIMITS) =>
  indices(splitRequests(items, (item) => item, limits));

describe('splitRequests', () => {
  test('makes no request of no messages', () => {
    expect(split([])).toEqual([]);
  });

  test.each([
    [1, [1]],
    [999, [999]],
    [1000, [1000]],
    [1001, [1000, 1]],
    [2000, [1000, 1000]],
    [2001, [1000, 1000, 1]],
  ])('puts %i messages into requests of %j', (count, sizes) => {
    const items = Array.from({ length: count }, (_, index) => ({
      index,
      application: 'a',
      bytes: 1,
    }));
    const requests = split(items);
    expect(requests.map(({ length }) => length)).toEqual(sizes);
    expect(requests.flat()).toEqual(items.map(({ index }) => index));
  });

  test.each([
    ['with room to the byte', 2 + 10 + 1 + 10, [[0, 1]]],
    ['with one byte too little', 2 + 10 + 1 + 9, [[0], [1]]],
    ['for one message to the byte', 2 + 10, [[0], [1]]],
    ['for less than one message', 5, [[0], [1]]],
  ])('puts two messages of 10 bytes into a budget %s', (_what, maxBytes, requests) => {
    expect(split(itemsOf(['a', 10], ['a', 10]), { maxMessages: 9, maxBytes })).toEqual(requests);
  });

  test('counts every comma', () => {
    const items = itemsOf(['a', 10], ['a', 10], ['a', 10], ['a', 10]);
    const threeFit = 2 + 3 * 10 + 2;
    expect(split(items, { maxMessages: 9, maxBytes: threeFit })).toEqual([[0, 1, 2], [3]]);
    expect(split(items, { maxMessages: 9, maxBytes: threeFit - 1 })).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test('puts messages of different applications into different requests, each in order', () => {
    const items = itemsOf(['a', 1], ['b', 1], ['a', 1], [undefined, 1], ['b', 1], [undefined, 1]);
    expect(split(items)).toEqual([
      [0, 2],
      [1, 4],
      [3, 5],
    ]);
  });

  test('does not fill an earlier request once a later one of its application was begun', () => {
    const items = itemsOf(['a', 10], ['a', 20], ['a', 1]);
    expect(split(items, { maxMessages: 9, maxBytes: 25 })).toEqual([[0], [1, 2]]);
  });

  test('keeps every message, order, application, number and size, for any input', () => {
    const anyItem = fc.record({
      application: fc.constantFrom('a', 'b', undefined),
      bytes: fc.integer({ min: 1, max: 40 }),
    });
    const anyLimits = fc.record({
      maxMessages: fc.integer({ min: 1, max: 5 }),
      maxBytes: fc.integer({ min: 42, max: 120 }),
    });
    fc.assert(
      fc.property(fc.array(anyItem), anyLimits, (given, limits) => {
        const items = given.map((item, index) => ({ ...item, index }));
        const requests = splitRequests(items, (item) => item, limits);
        expect(requests.flat().toSorted((a, b) => a.index - b.index)).toEqual(items);
        for (const request of requests) {
          expect(new Set(request.map(({ application }) => application)).size).toBe(1);
          expect(request.length).toBeLessThanOrEqual(limits.maxMessages);
          expect(bodyBytes(request.map(({ bytes }) => bytes))).toBeLessThanOrEqual(limits.maxBytes);
        }
        for (const application of ['a', 'b', undefined]) {
          const own = (item: Item) => item.application === application;
          expect(requests.flat().filter(own)).toEqual(items.filter(own));
        }
      }),
    );
  });

  test('holds the budget for assembled bodies of any text', () => {
    const texts = fc.array(fc.string({ unit: anyCharacter, maxLength: 60 }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(texts, fc.nat({ max: 101 }), (given, retryCount) => {
        const outgoing = given.map((text, index) => ({
          stored: storeV2({ message_id: `${index}`, message_type: 'test', message: { text } }),
          sends: retryCount,
        }));
        const sizes = outgoing.map((message) => bodyBytes([elementBytes(message)]));
        const maxBytes = Math.max(...sizes) + 200;
        const requests = splitRequests(
          outgoing,
          (message) => ({ application: 'a', bytes: elementBytes(message) }),
          { maxMessages: 1000, maxBytes },
        );
        for (const request of requests) {
          expect(encodeBody(request, formatTimestamp(0)).length).toBeLessThanOrEqual(maxBytes);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('halve', () => {
  test.each([
    [
      ['a', 'b'],
      [['a'], ['b']],
    ],
    [
      ['a', 'b', 'c'],
      [['a', 'b'], ['c']],
    ],
    [
      ['a', 'b', 'c', 'd'],
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
  ])('makes of %j %j', (request, halves) => {
    expect(halve(request)).toEqual(halves);
  });
});

describe('applicationOf', () => {
  test.each(Object.entries(DRAFTS))('finds whose the %s is', (_name, draft) => {
    const { message } = messageToSend('strict').parse(draft);
    expect(applicationOf(message)).toBe('app-1');
  });

  test.each(Object.entries(ELEMENTS))('finds whose the element %s is', (_name, element) => {
    expect(applicationOf(contract().WebhookMessageV1.parse(element))).toBe('app-1');
  });

  test('is undefined for a v1 test without an application', () => {
    const { application_id: _, ...element } = ELEMENTS['test (v1)'];
    expect(applicationOf(contract().WebhookMessageV1.parse(element))).toBeUndefined();
  });
});
