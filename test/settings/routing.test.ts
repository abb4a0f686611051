import { describe, expect, test } from 'vitest';
import { type Route, type Routing, route } from '../../src/settings/routing.ts';
import { createSettings } from '../../src/settings/source.ts';

type Selection = Readonly<Record<string, boolean>>;

const SEND: Route = { kind: 'send' };
const MODULE: Route = { kind: 'skip', reason: 'module-not-selected' };
const PLAYBOOK: Route = { kind: 'skip', reason: 'playbook-not-selected' };

const modules: Selection = { waf: true, rasp: false };
const playbooks: Selection = { 'block_ips_v2.1': true, notify: false };
const both = { modules, playbooks };

interface Selections {
  readonly modules?: Selection;
  readonly playbooks?: Selection;
}

describe('a message', () => {
  test.each<[string, Selections, Routing, Route]>([
    ['is sent where nothing is selected', {}, { module: 'waf', playbookSlug: 'notify' }, SEND],
    ['is sent where nothing is named', both, {}, SEND],
    [
      'is sent where what is named is undefined',
      both,
      { module: undefined, playbookSlug: undefined },
      SEND,
    ],
    ['of a selected module is sent', both, { module: 'waf' }, SEND],
    ['of a module set to false is skipped', both, { module: 'rasp' }, MODULE],
    ['of a module that is not there is skipped', both, { module: 'sdk' }, MODULE],
    ['of a module is skipped where none is selected', { modules: {} }, { module: 'waf' }, MODULE],
    ['of a nameless module is skipped', { modules }, { module: '' }, MODULE],
    ['of a module in other letters is skipped', both, { module: 'WAF' }, MODULE],
    [
      'of any module is sent where only playbooks are selected',
      { playbooks },
      { module: 'x' },
      SEND,
    ],
    ['of a selected playbook is sent', both, { playbookSlug: 'block_ips_v2.1' }, SEND],
    [
      'of a selected playbook is sent by its name too',
      both,
      { playbookSlug: 'Block IPs v2.1' },
      SEND,
    ],
    ['of a playbook set to false is skipped', both, { playbookSlug: 'notify' }, PLAYBOOK],
    ['of a playbook that is not there is skipped', both, { playbookSlug: 'page' }, PLAYBOOK],
    ['of a playbook whose name gives no slug is skipped', both, { playbookSlug: '🚨' }, PLAYBOOK],
    ['of any playbook is sent where only modules are', { modules }, { playbookSlug: 'x' }, SEND],
    ['is skipped for its module first', both, { module: 'rasp', playbookSlug: 'notify' }, MODULE],
    [
      'is skipped for its playbook though its module is selected',
      both,
      { module: 'waf', playbookSlug: 'notify' },
      PLAYBOOK,
    ],
    ['of a module named as a method is skipped', both, { module: 'constructor' }, MODULE],
    ['of a playbook named as a method is skipped', both, { playbookSlug: 'constructor' }, PLAYBOOK],
  ])('%s (D60)', (_title, selections, routing, expected) => {
    expect(route(selections, routing)).toEqual(expected);
  });

  test('is routed by slugs, also if the settings have names', async () => {
    const { find } = createSettings({
      applications: {
        'app-1': {
          name: 'shop',
          environment: 'production',
          playbooks: { 'Block IPs v2.1 - Account Takeover': true },
        },
      },
    });
    const application = (await find('app-1')) ?? {};
    expect(route(application, { playbookSlug: 'block_ips_v2.1_account_takeover' })).toEqual(SEND);
    expect(route(application, { playbookSlug: 'block_ips' })).toEqual(PLAYBOOK);
  });
});
