/** One sender delivers for two applications, each with its own URL, secret, format and selection. */
import { randomUUID } from 'node:crypto';
import {
  createReporter,
  createWebhookSender,
  generateSecret,
  type OrganisedApplication,
} from 'security-event-delivery';
import { startReceiver } from 'security-event-delivery/testing';
import { printTable, say } from '../story.ts';

const secrets = { shop: generateSecret(), warehouse: generateSecret() };
const receivers = {
  shop: await startReceiver({ secret: secrets.shop }),
  warehouse: await startReceiver({ secret: secrets.warehouse }),
};

// In your program: from a database or a file.
const applications: Readonly<Record<string, OrganisedApplication>> = {
  // Everything is sent, in format 2.
  shop: { url: receivers.shop.url, secret: secrets.shop },
  warehouse: {
    url: receivers.warehouse.url,
    secret: secrets.warehouse,
    format: 1, // needs the next two
    name: 'warehouse',
    environment: 'production',
    modules: { 'path-traversal': false },
    playbooks: { 'Block IPs': false },
  },
};
const sender = createWebhookSender({
  settings: (id) => applications[id],
  dialect: 'open', // like reporters
  network: 'allow-private', // the receivers are on this machine
});

const rows: (string | undefined)[][] = [];
for (const name of ['shop', 'warehouse'] as const) {
  const service = { svc_id: name, name, env: 'production' };
  const reporter = createReporter({ service, webhook: sender, log: false });
  const incident = {
    incident_id: randomUUID(),
    incident_type: 'sql_injection',
    name: 'SQL injection attempts',
    severity: 'major',
  } as const;
  const actor = { ip: '203.0.113.9' };
  const receipts = {
    'an attack': reporter.attack({ ruleset: 'sql_injection' }, { actor }),
    'an exploit': reporter.vulnerabilityExploit(
      { protection: 'lfi' },
      { module: 'path-traversal' },
    ),
    'a new incident': reporter.incident(incident, { actor }),
    'an update of the incident': reporter.incident(incident, { actor }),
    'a playbook': reporter.playbookTrigger({ name: 'Block IPs' }, { actor }),
  };
  for (const [event, { settled }] of Object.entries(receipts)) {
    const { outcome, reason } = await settled;
    rows.push([name, event, outcome, reason]);
  }
  const { requests } = receivers[name];
  const format = requests.some(({ messages }) => messages[0]?.['svc_payload_type']) ? 1 : 2;
  const areSigned = requests.every(({ signatureOk }) => signatureOk);
  say(name, `its receiver gets format ${format}; signatures ${areSigned ? 'verified' : 'wrong'}`);
}
await sender.close();
await Promise.all([receivers.shop.close(), receivers.warehouse.close()]);
printTable([['Application', 'Event', 'Webhook message', 'Reason'], ...rows]);
