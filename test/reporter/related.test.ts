import { describe, expect, test } from 'vitest';
import { describeAddress } from '../../src/capture/enrichment/describe-address.ts';
import type { LogActor } from '../../src/contract/index.ts';
import { accountKey, keysInMessage, keysOf, readRelated } from '../../src/reporter/related.ts';

const read = (payload: unknown, actor?: LogActor) => readRelated(payload, actor, undefined);
const facts = (address: string) => describeAddress(address) as LogActor['ip'];
const ACTOR: LogActor = { identifiers: null, ip: facts('203.0.113.9'), svc_identifier: null };

const invalid = (...path: readonly PropertyKey[]) =>
  expect.objectContaining({ code: 'ERR_INVALID_MESSAGE', path: ['payload', ...path] });

describe('the addresses of an incident', () => {
  test.each([
    ['none', {}, undefined, []],
    ['the actor’s, if none are given', {}, ACTOR, [ACTOR.ip]],
    ['none, for an empty list', { related_ips: [] }, ACTOR, []],
    ['of no payload', 'text', ACTOR, [ACTOR.ip]],
  ])('are %s', (_name, payload, actor, ips) => {
    expect(read(payload, actor)).toEqual({ ips, accounts: [] });
  });

  test.each([
    ['::ffff:203.0.113.9', '203.0.113.9', 4],
    ['::1', '127.0.0.1', 4],
    ['2001:DB8:0::7', '2001:db8::7', 6],
    ['203.0.113.9', '203.0.113.9', 4],
  ])('are normalised like those of channel A: %s', (given, address, version) => {
    const asText = read({ related_ips: [given] });
    const asActor = read({}, { ...ACTOR, ip: { ...facts(given), address: given } });
    const asFacts = read({ related_ips: [{ ...facts(given), address: given }] });
    for (const { ips } of [asText, asActor, asFacts]) {
      expect(ips).toMatchObject([{ address, metadata: { version } }]);
    }
  });

  test('keep the facts of the caller', () => {
    const known = facts('8.8.8.8');
    const given = {
      ...known,
      geo: { city: 'Paris', country_code: 'FRA', latitude: 48.8, longitude: 2.3 },
      metadata: { ...known.metadata, tor: true, datacenter: { name: 'n', url: 'u' } },
    };
    expect(read({ related_ips: [given] }).ips).toEqual([given]);
  });

  const whole = facts('8.8.8.8');
  const odd = { ...whole, metadata: { ...whole.metadata, tor: 'no' } };
  test.each([
    ['no list', 7, []],
    ['no JSON', [1n], [0]],
    ['a text that is no address', ['nonsense'], [0]],
    ['null', [null], [0]],
    ['no facts', [{ address: '8.8.8.8' }], [0, 'geo']],
    ['a fact of another kind', [odd], [0, 'metadata', 'tor']],
  ])('are rejected with their path: %s', (_name, related_ips, path) => {
    expect(() => read({ related_ips }, ACTOR)).toThrow(invalid('related_ips', ...path));
  });
});

const ACCOUNT = { svc_id: 'a', user_identifiers: { uid: 7 }, ip_address: '' };

describe('the accounts of an incident', () => {
  test('are copied unchanged', () => {
    const account = structuredClone(ACCOUNT);
    const { accounts } = read({ compromised_accounts: [account] });
    account.user_identifiers.uid = 8;
    expect(accounts).toEqual([ACCOUNT]);
  });

  test('are rejected if they are not a list', () => {
    expect(() => read({ compromised_accounts: { a: 1 } }, ACTOR)).toThrow(
      invalid('compromised_accounts'),
    );
  });
});

describe('the keys of addresses and accounts', () => {
  test('are the same in lists and in a message', () => {
    const related = { ips: [facts('::ffff:203.0.113.9')], accounts: [ACCOUNT] };
    const names = { addresses: ['203.0.113.9'], accounts: [accountKey(ACCOUNT)] };
    expect(keysOf(related)).toEqual(names);
    const new_related_ips = [{ address: '::ffff:203.0.113.9' }];
    const message = { new_related_ips, new_compromised_accounts: [ACCOUNT] };
    expect(keysInMessage(message)).toEqual(names);
  });

  test('are the same for accounts whose keys are in another order', () => {
    const reordered = { ip_address: '', user_identifiers: { uid: 7 }, svc_id: 'a' };
    const { accounts } = keysOf({ ips: [], accounts: [ACCOUNT, reordered] });
    expect(accounts[1]).toBe(accounts[0]);
  });

  test.each([
    [{}, [], []],
    [{ new_related_ips: 7, new_compromised_accounts: 'x' }, [], []],
    [{ new_related_ips: [null, 7, {}, { address: 7 }, { address: 'odd' }] }, ['odd'], []],
  ])('are the readable ones of a message: %j', (message, addresses, accounts) => {
    expect(keysInMessage(message)).toEqual({ addresses, accounts });
  });
});
