import { describe, expect, test } from 'vitest';
import { contract } from '../../src/contract/index.ts';
import { type Intake, type IntakeRules, readSendCall } from '../../src/delivery/intake.ts';
import { SecurityEventError } from '../../src/errors.ts';
import { createSettings, type SettingsSource } from '../../src/settings/source.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { encodeBody } from '../../src/webhook/encoder.ts';

const ACCEPTED_AT = Date.UTC(2026, 10, 21, 10);
const AT = '2026-11-21T10:00:00.000+00:00';

const SETTINGS = {
  applications: {
    'shop-1': { name: 'Shop', environment: 'production' },
    chosen: {
      name: 'Chosen',
      environment: 'test',
      modules: { waf: true, rasp: false },
      playbooks: { 'Block IPs': true, Notify: false },
    },
    'old-1': { name: 'Old', environment: 'test' },
  },
};

/** As a function: `old-1` reads format 1. */
const source: SettingsSource = (applicationId) => {
  const application = new Map(Object.entries(SETTINGS.applications)).get(applicationId);
  if (application === undefined) return undefined;
  return { ...application, format: applicationId === 'old-1' ? 1 : 2 };
};

interface Call extends Partial<IntakeRules> {
  readonly messages: unknown;
  readonly selection?: unknown;
}

async function accept({ messages, selection = {}, ...rules }: Call): Promise<Intake> {
  let lastId = 0;
  const newId = (): string => {
    lastId += 1;
    return `made-${lastId}`;
  };
  return await readSendCall(
    { messages, selection, acceptedAtMs: ACCEPTED_AT },
    {
      dialect: 'strict',
      maxBodyBytes: 10_000,
      v1Aliases: false,
      newId,
      isBehind: () => false,
      find: createSettings(source).find,
      yieldToEventLoop: () => Promise.resolve(),
      ...rules,
    },
  );
}

const rejection = async (call: Call): Promise<unknown> =>
  await accept(call).then(
    () => undefined,
    (error: unknown) => error,
  );

const event = (applicationId: string, id?: string) =>
  sampleMessageToSend('security_event', {
    message_id: id,
    message: { application_id: applicationId },
  });

const response = (applicationId: string, playbook = 'Block IPs') =>
  sampleMessageToSend('security_response', {
    message_id: 'r-1',
    message: { application: { id: applicationId }, playbook: { name: playbook } },
  });

const incident = (applicationId: string, overrides: object = {}) =>
  sampleMessageToSend('injection_sql', {
    message_id: 'i-1',
    message: { application_id: applicationId },
    ...overrides,
  });

/** The element that an entry becomes. */
const elementOf = ({ entries }: Intake, index = 0): Record<string, unknown> => {
  const stored = entries[index]?.stored;
  if (stored === undefined) throw new Error('no such entry');
  return JSON.parse(encodeBody([{ stored, retryCount: 3 }], AT).toString())[0];
};

describe('a batch', () => {
  test('becomes entries in its order, each with its application', async () => {
    const intake = await accept({
      messages: [event('shop-1', 'a'), response('chosen'), event('shop-1')],
    });
    expect(intake.skipped).toEqual([]);
    expect(
      intake.entries.map(({ index, applicationId, stored }) => [
        index,
        applicationId,
        stored.messageId,
        stored.format,
      ]),
    ).toEqual([
      [0, 'shop-1', 'a', 2],
      [1, 'chosen', 'r-1', 2],
      [2, 'shop-1', 'made-1', 2],
    ]);
  });

  test('is counted as it is sent, with the longest retry_count and a comma', async () => {
    const { entries } = await accept({ messages: [event('shop-1', 'a')] });
    const [{ stored, sizeBytes } = {}] = entries;
    if (stored === undefined) throw new Error('no entry');
    const body = encodeBody([{ stored, retryCount: 9_999_999_999 }], AT);
    expect(sizeBytes).toBe(body.length - '[]'.length + ','.length);
  });

  test('looks each application up once, and yields to the event loop', async () => {
    const asked: string[] = [];
    let turns = 0;
    const ids = ['shop-1', 'chosen', 'shop-1', 'chosen', 'shop-1'];
    const { entries } = await accept({
      messages: ids.map((id) => event(id)),
      find: (applicationId) => {
        asked.push(applicationId);
        return createSettings(source).find(applicationId);
      },
      yieldToEventLoop: () => {
        turns += 1;
        return Promise.resolve();
      },
    });
    expect(entries.map(({ applicationId }) => applicationId)).toEqual(ids);
    expect(asked).toEqual(['shop-1', 'chosen']);
    expect(turns).toBe(5);
  });

  test.each([
    [true, 2],
    [false, 0],
  ])(
    'yields by count too if messages come in faster than they are delivered: %s',
    async (isBehind, turns) => {
      let found = 0;
      let immediate = setImmediate(function count() {
        found += 1;
        immediate = setImmediate(count);
      });
      const many = Array.from({ length: 300 }, () => event('shop-1'));
      await accept({ messages: many, isBehind: () => isBehind });
      clearImmediate(immediate);
      expect(found).toBe(turns);
    },
  );
});

describe('a message is skipped', () => {
  test.each<[string, unknown, unknown, string]>([
    ['for its module', event('chosen'), { module: 'rasp' }, 'module-not-selected'],
    ['for the playbook it names', response('chosen', 'Notify'), {}, 'playbook-not-selected'],
    [
      'for the playbook that the call names',
      response('chosen', 'Block IPs'),
      { playbook: 'Notify' },
      'playbook-not-selected',
    ],
    [
      'as an update in format 1',
      incident('old-1', { message: { application_id: 'old-1', incident_status: 'updated' } }),
      {},
      'v1-incident-update',
    ],
    [
      'for a genre that format 1 does not have',
      sampleMessageToSend('injection_xxe', { message: { application_id: 'old-1' } }),
      {},
      'no-v1-genre',
    ],
  ])('%s', async (_title, message, selection, reason) => {
    const applicationId = (message as ReturnType<typeof event>).message.application_id ?? 'chosen';
    const messages = [event('shop-1', 'taken'), message];
    const { entries, skipped } = await accept({ messages, selection });
    expect(skipped).toEqual([{ index: 1, applicationId, reason }]);
    expect(entries.map(({ stored }) => stored.messageId)).toEqual(['taken']);
  });

  test('but not if the call names a selected one', async () => {
    const call = { messages: [response('chosen', 'Notify')], selection: { playbook: 'Block IPs' } };
    const { entries, skipped } = await accept(call);
    expect([entries.length, skipped]).toEqual([1, []]);
  });
});

describe('for an application of format 1', () => {
  test('a message is stored as an element of format 1, which is sent as it is (D40, D45)', async () => {
    const intake = await accept({ messages: [response('old-1')] });
    expect(intake.entries[0]?.stored).toMatchObject({ messageId: 'r-1', format: 1, dateAt: 0 });
    expect(elementOf(intake)).toMatchObject({
      svc_payload_type: 'security_response',
      id: 'r-1',
      date_created: AT,
    });
    const { WebhookMessageV1 } = contract();
    expect(WebhookMessageV1.safeParse(elementOf(intake)).success).toBe(true);
  });

  test('an incident is a pulse with the names of the settings and the hints of the caller', async () => {
    const messages = [incident('old-1', { v1: { blocked: true } })];
    const intake = await accept({ messages });
    expect(elementOf(intake)).toMatchObject({
      svc_payload_type: 'pulse',
      pulse_genre: 'injection_sql',
      application_name: 'Old',
      environment: 'test',
      blocked: true,
    });
  });

  test.each([
    [true, 50],
    [false, undefined],
  ])('aliases are written if the option says so: %s (D41)', async (v1Aliases, risk) => {
    expect(elementOf(await accept({ messages: [event('old-1')], v1Aliases }))['risk']).toBe(risk);
  });

  test('hints that no pulse may have refuse the message', async () => {
    const messages = [event('shop-1'), incident('old-1', { v1: { date_ended: 'soon' } })];
    expect(await rejection({ messages })).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      path: [1, 'v1', 'date_ended'],
    });
  });
});

describe('a batch is refused, all of it', () => {
  test.each<[string, Partial<Call>, string, readonly unknown[]]>([
    [
      'for an application that the settings do not have',
      { messages: [event('shop-1'), event('nobody')] },
      'ERR_UNKNOWN_APPLICATION',
      [1, 'message', 'application_id'],
    ],
    [
      'for a message that is too large by itself',
      { messages: [event('shop-1'), event('shop-1', 'x'.repeat(10_000))] },
      'ERR_MESSAGE_TOO_LARGE',
      [1],
    ],
    [
      'for a selection of something else',
      { selection: { modules: ['waf'] } },
      'ERR_INVALID_OPTION',
      ['selection', 'modules'],
    ],
  ])('%s', async (_title, call, code, path) => {
    const error = await rejection({ messages: [event('shop-1')], ...call });
    expect(error).toBeInstanceOf(SecurityEventError);
    expect(error).toMatchObject({ code, path });
  });

  test('with an error that names the selection', async () => {
    const error = await rejection({ messages: [], selection: { modules: ['waf'] } });
    expect(error).toHaveProperty('message', expect.stringContaining('"modules" in the selection'));
  });

  test('with what the settings fail with', async () => {
    const failure = new Error('no settings');
    const find = (): Promise<never> => Promise.reject(failure);
    expect(await rejection({ messages: [event('shop-1')], find })).toBe(failure);
  });

  test('is accepted up to the exact size of the longest request', async () => {
    const messages = [event('shop-1', 'a')];
    const { entries } = await accept({ messages });
    const largest = (entries[0]?.sizeBytes ?? 0) - 1 + '[]'.length;
    expect((await accept({ messages, maxBodyBytes: largest })).entries).toHaveLength(1);
    expect(await rejection({ messages, maxBodyBytes: largest - 1 })).toMatchObject({
      code: 'ERR_MESSAGE_TOO_LARGE',
    });
  });
});

test('the open dialect accepts other vocabularies', async () => {
  const messages = [{ ...incident('shop-1'), message_type: 'something_new' }];
  expect((await accept({ messages, dialect: 'open' })).entries).toHaveLength(1);
  expect(await rejection({ messages })).toMatchObject({ path: [0, 'message_type'] });
});
