/** Playbooks without a slug (D16). */
import { expect, test } from 'vitest';
import { openSendingReporter } from './open-reporter.ts';

test.each([{ name: '🔥' }, { name: 'Block IPs', playbook_slug: '' }])(
  'a playbook without a slug is rejected on both channels: %j',
  async (payload) => {
    const { reporter, rejected } = await openSendingReporter();
    const { settled } = reporter.playbookTrigger(payload);
    expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_INVALID_RECORD' });
    const message = expect.stringContaining(
      'payload.playbook_slug: expected a slug, found an empty string: ' +
        'give one if the name has no letters or digits',
    );
    const error = { path: ['payload', 'playbook_slug'], message };
    expect(rejected).toMatchObject([
      { channel: 'log', error },
      { channel: 'webhook', error },
    ]);
  },
);

const giveSlug = ({ payload }: { payload: object }) =>
  void Object.assign(payload, { playbook_slug: 'fire' });

test('beforeSend can give the slug of a playbook whose name has none', async () => {
  const { reporter, rejected, messages } = await openSendingReporter({ beforeSend: giveSlug });
  await reporter.playbookTrigger({ name: '🔥' }).settled;
  expect([rejected, messages()]).toMatchObject([[], [{ message: { playbook: { id: 'fire' } } }]]);
});
