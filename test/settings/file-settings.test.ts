import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import {
  type CheckedApplications,
  FileSettings,
  readSync,
  readYielding,
} from '../../src/settings/file-settings.ts';

const agent = (name: string) => ({ name, environment: '' });
const textOf = (applications: unknown, format?: number): string =>
  JSON.stringify({ format, applications });

const newSettings = (): FileSettings => new FileSettings('here', () => undefined);
const read = (text: string, before: CheckedApplications = new Map()) =>
  readSync(newSettings().read(text, before));

function thrown(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe('the applications of a file', () => {
  test('are those of before, not checked again, where what is said of them is the same', () => {
    const before = read(textOf({ same: agent('same'), other: agent('other') }));
    const after = read(
      textOf({ same: agent('same'), other: agent('new'), more: agent('') }),
      before,
    );
    expect([...after.keys()]).toEqual(['same', 'other', 'more']);
    expect(after.get('same')).toBe(before.get('same'));
    expect(after.get('other')?.application.name).toBe('new');
  });

  test('are others where the format of them all is another', () => {
    const before = read(textOf({ same: agent('same') }, 1));
    const after = read(textOf({ same: agent('same') }), before);
    expect([before, after].map((all) => all.get('same')?.application.format)).toEqual([1, 2]);
  });

  test('cannot be changed by who uses them', () => {
    const selections = { modules: { waf: true }, playbooks: { notify: true } };
    const { application } = read(textOf({ a: { ...agent('a'), ...selections } })).get('a') ?? {};
    for (const one of [application, application?.modules, application?.playbooks]) {
      expect(Object.isFrozen(one)).toBe(true);
    }
  });

  test('show no private key, and have it', () => {
    const tls = { ca: 'of theirs', cert: 'of ours', key: 'hunter2' };
    const url = 'https://receiver.example/';
    const text = textOf({ a: { ...agent('a'), url, secret: 'secret', tls } });
    const { application } = read(text).get('a') ?? {};
    const shown = { ca: 'of theirs', cert: 'of ours', key: '(hidden)' };
    expect(JSON.parse(JSON.stringify(application))).toMatchObject({ url, tls: shown });
    const inspected = inspect({ application }, { depth: Infinity, showHidden: true });
    expect(inspected).toContain("key: '(hidden)'");
    expect(inspected).not.toContain('hunter2');
    expect({ ...application?.tls }).toEqual(tls);
    expect(Object.isFrozen(application?.tls)).toBe(true);
  });

  test.each([undefined, { ca: 'of theirs' }])('show certificates as they are (%j)', (tls) => {
    const { application } = read(textOf({ a: { ...agent('a'), tls } })).get('a') ?? {};
    expect(JSON.parse(JSON.stringify({ tls: application?.tls }))).toEqual({ tls });
    expect(Reflect.ownKeys(application?.tls ?? { ca: '' })).toEqual(['ca']);
  });

  test('are reported with all their faults, each at its place', () => {
    const text = textOf({
      a: agent('a'),
      b: { name: 7, environment: null },
      c: { ...agent('c'), url: '' },
    });
    expect(thrown(() => read(text))).toMatchObject({
      code: 'ERR_SETTINGS_FAILED',
      path: ['applications', 'b', 'name'],
      issues: [
        { path: ['applications', 'b', 'name'] },
        { path: ['applications', 'b', 'environment'] },
        { path: ['applications', 'c', 'url'] },
        { path: ['applications', 'c', 'secret'] },
      ],
    });
  });

  test('need names in format 1 alone', () => {
    const applications = { a: { url: 'https://receiver.example', secret: 'secret' } };
    expect(read(JSON.stringify({ applications })).get('a')?.application).toMatchObject({
      format: 2,
    });
    expect(thrown(() => read(JSON.stringify({ applications, format: 1 })))).toMatchObject({
      issues: [
        { path: ['applications', 'a', 'name'] },
        { path: ['applications', 'a', 'environment'] },
      ],
    });
  });

  test.each<[string, string, readonly string[], string]>([
    [
      'a format',
      '{ "format": 3, "applications": {} }',
      ['format'],
      'expected one of 1, 2, found 3',
    ],
    [
      'no applications',
      '{}',
      ['applications'],
      'expected an object of application ids and applications, found nothing',
    ],
    [
      'applications that are null',
      '{ "applications": null }',
      ['applications'],
      'expected an object of application ids and applications, found null',
    ],
    [
      'a list of applications',
      '{ "applications": [] }',
      ['applications'],
      'expected an object of application ids and applications, found an array',
    ],
    [
      'an application that is none',
      '{ "applications": { "a": null } }',
      ['applications', 'a'],
      'expected an object, found null',
    ],
  ])('are refused with %s', (_what, text, path, message) => {
    expect(thrown(() => read(text))).toMatchObject({ issues: [{ path, message }] });
  });

  test('are read in pieces, with time for others before the text is parsed and after each', async () => {
    const text = textOf({ a: agent('a'), b: agent('b'), c: agent('c') });
    const yieldToEventLoop = vi.fn<() => Promise<void>>(async () => {});
    const applications = await readYielding(newSettings().read(text, new Map()), yieldToEventLoop);
    expect([...applications.keys()]).toEqual(['a', 'b', 'c']);
    expect(yieldToEventLoop).toHaveBeenCalledTimes(5);
  });

  test('are none where drafts are all there is, whatever they say', () => {
    const text = JSON.stringify({ applications: {}, drafts: { a: 'no draft' } });
    expect(read(text).size).toBe(0);
  });
});
