import { describe, expect, test } from 'vitest';
import { describeSingleValue, elementsOf } from '../../../src/capture/request/foreign-value.ts';

const hostCode = (): never => {
  throw new Error('code of the host ran');
};

/** Returns the value as an instance of a subclass with its own getter or method. */
function overriding<T extends object>(value: T, name: string): T {
  const prototype: unknown = Object.getPrototypeOf(value);
  const own = Object.create(prototype as object, { [name]: { get: hostCode } }) as object;
  return Object.setPrototypeOf(value, own) as T;
}

describe('runs no getter of a subclass', () => {
  test.each([
    ['a Buffer', Buffer.alloc(3), 'byteLength', '[binary: 3 bytes]'],
    ['a Uint16Array', new Uint16Array(2), 'byteLength', '[binary: 4 bytes]'],
    ['a DataView', new DataView(new ArrayBuffer(5)), 'byteLength', '[binary: 5 bytes]'],
    ['an ArrayBuffer', new ArrayBuffer(6), 'byteLength', '[binary: 6 bytes]'],
    ['a SharedArrayBuffer', new SharedArrayBuffer(7), 'byteLength', '[binary: 7 bytes]'],
    ['a Blob', new Blob(['12345678']), 'size', '[file: 8 bytes]'],
    ['a File', new File(['123456789'], 'name'), 'size', '[file: 9 bytes]'],
  ])('of %s', (_name, value, getter, text) => {
    expect(describeSingleValue(overriding(value, getter))).toBe(text);
  });
});

describe('runs no method of a subclass', () => {
  test('of URLSearchParams', () => {
    const value = overriding(new URLSearchParams('a=1&b=2'), 'entries');
    expect(elementsOf(value, 10)).toEqual({ source: { a: '1', b: '2' }, omitted: 0 });
  });

  test('of FormData', () => {
    const form = new FormData();
    form.append('a', '1');
    expect(elementsOf(overriding(form, 'entries'), 10)).toEqual({ source: { a: '1' }, omitted: 0 });
  });
});

test('does not load the global FormData for other objects', () => {
  const original = Object.getOwnPropertyDescriptor(globalThis, 'FormData') ?? {};
  Object.defineProperty(globalThis, 'FormData', { configurable: true, get: hostCode });
  try {
    for (const value of [{ a: 1 }, [1], Object.create(null) as object])
      expect(elementsOf(value, 10)).toEqual({ source: value, omitted: 0 });
  } finally {
    Object.defineProperty(globalThis, 'FormData', original);
  }
});
