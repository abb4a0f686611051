import { describe, expect, test } from 'vitest';
import { type Route, type Routing, route } from '../../src/settings/routing.ts';

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
    ['is sent where nothing is selected', {}, { module: 'waf', playbook: 'notify' }, SEND],
    ['is sent where nothing is named', both, {}, SEND],
    ['of a selected module is sent', both, { module: 'waf' }, SEND],
    ['of a module set to false is skipped', both, { module: 'rasp' }, MODULE],
    ['of a selected playbook is sent', both, { playbook: 'block_ips_v2.1' }, SEND],
    ['of a selected playbook is sent by name too', both, { playbook: 'Block IPs v2.1' }, SEND],
    ['of a playbook set to false is skipped', both, { playbook: 'notify' }, PLAYBOOK],
    ['of a playbook whose name gives no slug is skipped', both, { playbook: '🚨' }, PLAYBOOK],
    ['is skipped for its module first', both, { module: 'rasp', playbook: 'notify' }, MODULE],
    [
      'is skipped for its playbook though its module is selected',
      both,
      { module: 'waf', playbook: 'notify' },
      PLAYBOOK,
    ],
    ['of a module named as a method is skipped', both, { module: 'constructor' }, MODULE],
  ])('%s (D60)', (_title, selections, routing, expected) => {
    expect(route(selections, routing)).toEqual(expected);
  });
});
