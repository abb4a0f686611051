import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deepFreeze } from '../../src/contract/frozen.ts';
import { messageToSend, PULSE_GENRES, WebhookMessageV1 } from '../../src/contract/index.ts';
import {
  type DowngradeContext,
  downgrade,
  type MessageToDowngrade,
} from '../../src/projection/downgrade.ts';
import { inputs } from '../contract/cases/arbitrary-inputs.ts';
import { DRAFTS, PULSE_DETAILS } from '../contract/samples.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const CONTEXT: DowngradeContext = {
  application: { name: 'shop as the settings say', environment: 'staging' },
  acceptedAt: '2026-11-21T10:00:01.000+00:00',
  v1Aliases: false,
  dialect: 'strict',
};

const ALIASED = { ...CONTEXT, v1Aliases: true };

/** Removes the risk rating. */
const unrated = <
  M extends { readonly message: { readonly risk_coefficient?: number | undefined } },
>(
  draft: M,
) => {
  const { risk_coefficient: _rating, ...message } = draft.message;
  return { ...draft, message };
};

const EVENT = unrated(DRAFTS['event to send']);
const RESPONSE = DRAFTS['response to send'];
const TEST = unrated(DRAFTS['test to send']);
const INCIDENT = { ...DRAFTS['incident to send'].message, incident_status: 'created' };
const [RELATED_IP] = INCIDENT.new_related_ips;

const incident = (
  changes: Record<string, unknown> = {},
  { message_type = 'http_scan', ...rest }: Partial<MessageToDowngrade> = {},
): MessageToDowngrade => ({
  message_id: 'msg-1',
  message_type,
  message: { ...INCIDENT, ...changes },
  ...rest,
});

/** Returns the element, which the contract must accept unchanged. */
function elementOf(given: MessageToDowngrade, context = CONTEXT): Record<string, unknown> {
  const element = downgrade(given, context);
  if (typeof element === 'string') throw new Error(`skipped: ${element}`);
  expect(WebhookMessageV1.parse(element)).toEqual(element);
  return element;
}

const validMessages = inputs
  .filter(({ on }) => on in DRAFTS)
  .map(({ input }) => messageToSend('strict').safeParse(input))
  .filter(({ success }) => success)
  .map(({ data }) => data as MessageToDowngrade);

/** Valid messages of every type, incidents with hints and without. */
const messages = fc
  .tuple(validMessages, fc.boolean())
  .map(([message, hasHints]) => (hasHints ? message : { ...message, v1: undefined }));

describe('a message of format 2 in format 1', () => {
  test('is valid in the strict contract, with its keys in order, or is skipped, and is not changed', () => {
    fc.assert(
      fc.property(messages, fc.boolean(), (message, v1Aliases) => {
        const element = downgrade(deepFreeze(message), { ...CONTEXT, v1Aliases });
        if (typeof element === 'string') return;
        expect(JSON.stringify(WebhookMessageV1.parse(element))).toBe(JSON.stringify(element));
      }),
      { numRuns: quickOrNightly(150, 400) },
    );
  });

  test('is generated in every variant', () => {
    const kinds = fc.sample(messages, { numRuns: 400, seed: 1 }).map((message) => {
      const downgraded = downgrade(message, CONTEXT);
      return typeof downgraded === 'string' ? downgraded : downgraded.svc_payload_type;
    });
    expect([...new Set(kinds)].toSorted()).toEqual([
      'no-v1-genre',
      'pulse',
      'security_event',
      'security_response',
      'test',
      'v1-incident-update',
    ]);
  });

  test.each([
    [EVENT, { risk: 50, id: 'event-1', url: 'https://dashboard.example/events/event-1' }],
    [TEST, { risk: 50 }],
  ])('D41 is flattened under svc_payload_type, case %#, and gets aliases', (given, aliases) => {
    const flat = { svc_payload_type: given.message_type, ...given.message };
    expect(elementOf(given)).toEqual(flat);
    expect(elementOf(given, ALIASED)).toEqual({ ...flat, ...aliases });
  });

  test.each(['event to send', 'test to send'] as const)(
    'D81 of the %s has the rating as risk, with and without aliases',
    (name) => {
      const rated = DRAFTS[name];
      for (const context of [CONTEXT, ALIASED]) {
        const element = elementOf(rated, context);
        expect(element).toEqual({ ...elementOf(unrated(rated), context), risk: 60 });
        expect(element).not.toHaveProperty('risk_coefficient');
      }
    },
  );

  test.each([false, true])(
    'D41 of a security response has its message_id and acceptance time (aliases: %s)',
    (v1Aliases) => {
      expect(elementOf(RESPONSE, { ...CONTEXT, v1Aliases })).toEqual({
        id: RESPONSE.message_id,
        svc_payload_type: 'security_response',
        date_created: '2026-11-21T10:00:01.000+00:00',
        ...RESPONSE.message,
      });
    },
  );

  test.each([false, true])('D43 derives a pulse from an incident (aliases: %s)', (v1Aliases) => {
    expect(elementOf(incident(), { ...CONTEXT, v1Aliases })).toEqual({
      svc_payload_type: 'pulse',
      pulse_genre: 'http_scan',
      pulse_category: null,
      date_started: '2026-11-21T10:00:00.000+00:00',
      date_ended: null,
      humanized_title: 'HTTP scan from 2001:db8::9',
      humanized_accounts: null,
      humanized_geos: 'Lyon, FRA',
      blocked: false,
      application_id: 'shop-1',
      application_name: 'shop as the settings say',
      environment: 'staging',
      id: 'incident-1',
      url: 'urn:uuid:incident-1',
      incidents_count: 1,
      user_agents_count: 0,
      ip_addresses_count: 1,
      accounts_count: 0,
    });
  });
});

describe('the genre of a pulse', () => {
  // D48, and vulnerable_packages, which does not come from channel A.
  const SAME_NAME = `http_scan injection_sql injection_nosql injection_shellshock injection_shell
    injection_xss injection_lfi injection_eval account_takeover user_risk_increased
    vulnerable_packages`;

  test.each(SAME_NAME.split(/\s+/))(
    'D48 of a message of type %s has the same name',
    (message_type) => {
      expect(elementOf(incident({}, { message_type }))['pulse_genre']).toBe(message_type);
    },
  );

  test.each([
    'injection_ssrf',
    'injection_xxe',
    'injection_deserialization',
    // Valid only in the open dialect (D25).
    'svc_unheard_of',
    'constructor',
    '__proto__',
  ])('D48 is none for the message type %s, which is skipped with a reason', (message_type) => {
    expect(downgrade(incident({}, { message_type }), CONTEXT)).toBe('no-v1-genre');
  });

  test.each(['injection_xxe', 'account_takeover'])(
    "D43 is the caller's, for a type with a genre or without: %s",
    (message_type) => {
      const v1 = { pulse_genre: 'failed_auth_peak' };
      expect(elementOf(incident({}, { message_type, v1 }))).toMatchObject({
        pulse_genre: 'failed_auth_peak',
        humanized_title: 'Peak of failed logins from 2001:db8::9',
      });
    },
  );

  test.each(['http_scan', 'injection_xxe'])(
    'D44 does not matter for an update, which is skipped with a reason: %s',
    (message_type) => {
      const v1 = { pulse_genre: 'http_scan' };
      const update = incident({ incident_status: 'updated' }, { message_type, v1 });
      expect(downgrade(update, CONTEXT)).toBe('v1-incident-update');
    },
  );
});

const ip = (address: string, geo: object = {}): object => ({ ...RELATED_IP, address, geo });
const place = (city: string | undefined, code: string): object => ({
  ...(city === undefined ? {} : { city }),
  code,
  point: [0, 0],
});

const account = (user_identifiers: object): object => ({
  svc_id: 'svc-7',
  user_identifiers,
  ip_address: '203.0.113.9',
});

describe('the texts of a pulse', () => {
  test.each<[string, string, number, number]>([
    ['Account takeover', 'account_takeover', 0, 0],
    ['Account takeover from 203.0.113.0', 'account_takeover', 0, 1],
    ['Account takeover on 1 account from 203.0.113.0', 'account_takeover', 1, 1],
    ['Account takeover on 2 accounts from 3 IP addresses', 'account_takeover', 2, 3],
    ['Account takeover on 2 accounts', 'account_takeover', 2, 0],
  ])('contain the title and the counts: %s', (humanized_title, message_type, accounts, ips) => {
    const found = {
      new_related_ips: Array.from({ length: ips }, (_, index) => ip(`203.0.113.${index}`)),
      new_compromised_accounts: Array.from({ length: accounts }, () => account({})),
    };
    expect(elementOf(incident(found, { message_type }))).toMatchObject({
      humanized_title,
      ip_addresses_count: ips,
      accounts_count: accounts,
      incidents_count: 1,
    });
  });

  test('have a distinct title for each of the 18 genres', () => {
    const titles = PULSE_GENRES.map(
      (pulse_genre) =>
        elementOf(incident({ new_related_ips: [] }, { v1: { pulse_genre } }))['humanized_title'],
    );
    expect(new Set(titles).size).toBe(18);
    // Other titles would be the words of the genre, in lower case.
    expect(titles.filter((title) => !/^[A-Z]/.test(String(title)))).toEqual([]);
  });

  test('use the words of an unknown genre in the open dialect', () => {
    const v1 = { pulse_genre: 'credential_stuffing_peak' };
    expect(
      downgrade(incident({ new_related_ips: [] }, { v1 }), { ...CONTEXT, dialect: 'open' }),
    ).toMatchObject({ humanized_title: 'credential stuffing peak' });
  });

  test.each<[string, object[], string | null]>([
    ['nothing without a place', [{}], null],
    ['the country alone without a city', [place(undefined, 'FRA'), place('', 'ITA')], 'FRA; ITA'],
    ['each place once', [place('Lyon', 'FRA'), {}, place('Lyon', 'FRA')], 'Lyon, FRA'],
    [
      'five places and how many more',
      ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'G'].map((city) => place(city, 'FRA')),
      'A, FRA; B, FRA; C, FRA; D, FRA; E, FRA and 2 more',
    ],
  ])('names %s', (_what, geos, humanized_geos) => {
    const new_related_ips = geos.map((geo) => ip('203.0.113.9', geo));
    expect(elementOf(incident({ new_related_ips }))).toMatchObject({
      humanized_geos,
      ip_addresses_count: geos.length,
    });
  });

  test.each<[string, object[] | undefined, string | null]>([
    ['no account without a list', undefined, null],
    ['no account without a word', [{}, { id: null }, { deep: { id: 'x' } }, { id: '' }], null],
    ['each account’s first word', [{ a: null, b: '', c: 'jane', d: 'x' }, { id: 7 }], 'jane, 7'],
    ['five accounts', [0, 1, 2, 3, 4].map((id) => ({ id })), '0, 1, 2, 3, 4'],
  ])('names %s', (_what, accounts, humanized_accounts) => {
    const new_compromised_accounts = accounts?.map(account);
    const found = accounts === undefined ? {} : { new_compromised_accounts };
    expect(elementOf(incident(found, { message_type: 'account_takeover' }))).toMatchObject({
      humanized_accounts,
      accounts_count: accounts?.length ?? 0,
    });
  });
});

describe('the caller’s hints for v1', () => {
  test.each(Object.entries({ ...PULSE_DETAILS, blocked: true, incidents_count: 9 }))(
    'D43 replace derived values in the pulse: %s',
    (key, value) => {
      const derived = elementOf(incident());
      const hinted = elementOf(incident({}, { v1: { [key]: value } }));
      expect(hinted[key]).toEqual(value);
      expect(Object.keys(hinted)).toEqual(Object.keys(derived));
    },
  );

  test.each<[string, object | undefined]>([
    ['no fields', {}],
    ['undefined', undefined],
    ['a field that is undefined', { pulse_genre: undefined, id: undefined, blocked: undefined }],
  ])('have no effect if they are %s', (_what, v1) => {
    expect(elementOf(incident({}, { v1 }))).toEqual(elementOf(incident()));
  });

  test('for the id also change the URL, unless the caller sets it (D46)', () => {
    expect(elementOf(incident({}, { v1: { id: 'p-1' } }))['url']).toBe('urn:uuid:p-1');
    const v1 = { id: 'p-1', url: 'https://dashboard.example/p-1' };
    expect(elementOf(incident({}, { v1 }))).toMatchObject(v1);
  });

  test.each<[string, object, PropertyKey[], string]>([
    [
      'a genre that does not exist',
      { pulse_genre: 'unheard_of' },
      ['v1', 'pulse_genre'],
      'v1.pulse_genre: expected one of "vulnerable_packages", ',
    ],
    ['a genre that is not a string', { pulse_genre: 5 }, ['v1', 'pulse_genre'], 'found 5'],
    ['a numeric id', { id: 5 }, ['v1', 'id'], 'v1.id: expected a string, found a number'],
    ['a field that no pulse has', { severity: 'major' }, ['v1'], 'v1: unknown key "severity"'],
  ])('are rejected with %s', (_what, v1, path, text) => {
    const error = thrownBy(() => downgrade(incident({}, { v1 }), CONTEXT));
    expect(error).toMatchObject({ code: 'ERR_INVALID_MESSAGE', path });
    expect(error.message).toContain(text);
    expect(error.message).not.toContain('incident-1');
  });

  test('are rejected with every issue', () => {
    const given = incident({}, { v1: { blocked: 'no', url: 7 } });
    expect(thrownBy(() => downgrade(given, CONTEXT)).issues).toEqual([
      { path: ['v1', 'blocked'], message: 'expected true or false, found a string' },
      { path: ['v1', 'url'], message: 'expected a string, found a number' },
    ]);
  });
});
