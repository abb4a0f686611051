import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readAtOnce } from '../../src/settings/organisation.ts';
import {
  applicationsToDeliver,
  readStored,
  schemasToDeliver,
} from '../../src/settings/stored-settings.ts';
import { createCertificate } from '../../src/testing/index.ts';

const agent = (name: string) => ({ name, environment: '' });
const textOf = (applications: unknown, format?: number): string =>
  JSON.stringify({ format, applications });

const read = (text: string) => readAtOnce(readStored(text, schemasToDeliver('stored')));
const toDeliver = (text: string) => readAtOnce(applicationsToDeliver(read(text), () => undefined));

describe('applications to deliver', () => {
  test('are frozen', () => {
    const selections = { modules: { waf: true }, playbooks: { notify: true } };
    const application = toDeliver(textOf({ a: { ...agent('a'), ...selections } })).get('a');
    for (const one of [application, application?.modules, application?.playbooks]) {
      expect(Object.isFrozen(one)).toBe(true);
    }
  });

  test('have the private key, but do not show it', () => {
    const tls = { ca: '-----BEGIN theirs', ...createCertificate() };
    const url = 'https://receiver.example/';
    const application = toDeliver(textOf({ a: { ...agent('a'), url, secret: 'secret', tls } })).get(
      'a',
    );
    const shown = { url, tls: { ...tls, key: '(hidden)' } };
    expect(JSON.parse(JSON.stringify(application))).toMatchObject(shown);
    const inspected = inspect({ application }, { depth: Infinity, showHidden: true });
    expect(inspected).toContain("key: '(hidden)'");
    expect(inspected).not.toContain('PRIVATE KEY');
    expect({ ...application?.tls }).toEqual(tls);
    expect(Object.isFrozen(application?.tls)).toBe(true);
  });

  test.each([undefined, { ca: '-----BEGIN theirs' }])('show certificates (%j)', (tls) => {
    const application = toDeliver(textOf({ a: { ...agent('a'), tls } })).get('a');
    expect(JSON.parse(JSON.stringify({ tls: application?.tls }))).toEqual({ tls });
    expect(Reflect.ownKeys(application?.tls ?? { ca: '' })).toEqual(['ca']);
  });
});

describe('the text of settings', () => {
  test('is read in steps: after parsing, and after each application', () => {
    const reading = readStored(
      textOf({ a: agent('a'), b: agent('b'), c: agent('c') }),
      schemasToDeliver('stored'),
    );
    let steps = 0;
    while (reading.next().done !== true) steps += 1;
    expect(steps).toBe(4);
  });

  test('may have invalid drafts, which delivery does not use', () => {
    const text = JSON.stringify({ applications: {}, drafts: { a: 'no draft' } });
    expect(read(text).applications.size).toBe(0);
  });
});
