import { expect, test } from 'vitest';
import { messageToSend } from '../../src/contract/index.ts';
import { CheckedDraft, plainMessage, unlessChecked } from '../../src/delivery/validated-message.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { quickReader } from '../../src/webhook/draft-reader.ts';

const SAMPLE = { ...sampleMessageToSend('security_event'), message_id: 'm-1' };
const read = quickReader('strict')(SAMPLE);
const PARTS = {
  messageId: 'm-1',
  messageType: 'security_event',
  message: JSON.stringify(SAMPLE.message),
  application: read?.application as string,
};
const checked = new CheckedDraft(PARTS);

test.each(['strict', 'open'] as const)('is taken as it is, in the dialect %s', (dialect) => {
  expect(unlessChecked(dialect).safeParse(checked)).toEqual({ success: true, data: read });
});

test('is handed back as a message that can be sent again', () => {
  expect(plainMessage(checked)).toStrictEqual(SAMPLE);
  expect(plainMessage(SAMPLE)).toBe(SAMPLE);
});

test('is read as any message where its class is another copy of this library', () => {
  const { success, data } = messageToSend('strict').safeParse(checked);
  expect([success, data]).toEqual([true, SAMPLE]);
});

/** What somebody may hold who has found one, for all that no entry gives any. */
const FORGED = {
  'made with its prototype': Object.setPrototypeOf(
    { ...SAMPLE, message: 3 },
    CheckedDraft.prototype,
  ),
  'made with its class': (() => {
    try {
      return Reflect.construct(checked.constructor as never, [
        { ...PARTS, message: '{}' },
      ]) as object;
    } catch {
      return {};
    }
  })(),
  'made of one': Object.create(checked, { message: { value: {} } }),
  'a proxy of one': new Proxy(checked, {}),
  'with its fields': { messageId: 'm', messageType: 'security_event', message: '{}' },
};

test.each(Object.entries(FORGED))('what is %s does not go past the check', (_name, forged) => {
  expect(CheckedDraft.read(forged)).toBeUndefined();
  expect(plainMessage(forged)).toBe(forged);
});

test('what was given in the place of a message is not one', () => {
  for (const given of [undefined, null, 'text', 3, () => {}]) {
    expect(CheckedDraft.read(given)).toBeUndefined();
    expect(unlessChecked('open').safeParse(given).success).toBe(false);
  }
});

test('nothing of a draft leads to its class', () => {
  const keys: object[] = [];
  for (let one: object | null = checked; one !== null; one = Object.getPrototypeOf(one)) {
    keys.push(...Reflect.ownKeys(one).map((key) => Reflect.get(checked, key)));
  }
  expect(keys).not.toContain(CheckedDraft);
});

test('no trap of a proxy is asked whether it is one', () => {
  const refusing = new Proxy(
    {},
    new Proxy(
      {},
      {
        get: () => () => {
          throw new Error('asked');
        },
      },
    ),
  );
  expect(CheckedDraft.read(refusing)).toBeUndefined();
});
