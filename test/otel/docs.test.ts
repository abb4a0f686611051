import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { describe, expect, test } from 'vitest';
import { createLogWriter } from '../../src/index.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { applicationsOf, listen, message, openReceiver, openSender } from '../helpers/sender.ts';
import { registered } from './registered.ts';

const silent = { write: (): void => {} };

const pageOf = (file: string): string =>
  readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8');

/** Produces every metric with every label that it can have. */
async function exported() {
  const published = listen();
  const names = ['rejecting', 'skipping', 'shop-1'];
  const receivers = [
    await openReceiver({ script: [{ status: 400 }] }),
    await openReceiver(),
    await openReceiver(),
  ];
  const { applications } = applicationsOf(
    Object.fromEntries(names.map((id, at) => [id, receivers[at] as never])),
  );
  const skipping = { ...applications['skipping'], modules: { waf: true } };
  const sender = openSender({
    schedule: { delaysMs: [] },
    settings: { applications: { ...applications, skipping } },
  });
  const metrics = registered({ senders: { main: sender }, applicationClass: () => 'all' });
  await sender.send([message('m-1', 'rejecting'), message('m-2')]);
  await sender.send([message('m-3', 'skipping')], { module: 'rasp' });
  await published.until('dead');
  await sender.flush();
  const of = { applicationId: 'shop-1' };
  channel('security-event-delivery:destination-closed').publish(of);
  channel('security-event-delivery:destination-missing').publish({ ...of, because: 'unknown' });
  channel('security-event-delivery:stalled').publish({});
  channel('security-event-delivery:rejected').publish({ channel: 'log', code: 'ERR_WRITE_FAILED' });
  channel('security-event-delivery:record-lost').publish({ reason: 'failed', count: 1 });
  createLogWriter({ destination: silent }).write(smallRecord());
  return metrics;
}

/** Returns whether a selector of Prometheus has these labels. Knows only `=~` and `!=`. */
const matches = (selector = '', labels: Readonly<Record<string, string>>) =>
  [...selector.matchAll(/(\w+)(=~|!=)"([^"]*)"/g)].every(([, label = '', how, value = '']) =>
    how === '!=' ? labels[label] !== value : RegExp(`^(?:${value})$`).test(labels[label] ?? ''),
  );

describe('the documentation', () => {
  test('has a row for each metric, with its labels, and no other', async () => {
    const { metrics } = await exported();
    const rows = (await metrics()).map(({ descriptor, dataPoints }) => {
      const labels = new Set(dataPoints.flatMap(({ attributes }) => Object.keys(attributes)));
      return `${descriptor.name} ${[...labels].toSorted().join(' ')}`;
    });
    const documented = [
      ...pageOf('metrics.md').matchAll(/^\| `(security_events\.[\w.]+)` \|[^|]*\| (.*) \|$/gm),
    ];
    const documentedRows = documented.map(
      ([, name, labels = '']) =>
        `${name} ${labels.replaceAll(/[`,]/g, '').split(' ').toSorted().join(' ')}`,
    );
    expect(documentedRows.toSorted()).toEqual(rows.toSorted());
  });

  test('has a dashboard and alerts whose queries name existing metrics and labels', async () => {
    const { collect } = await exported();
    const text = new PrometheusSerializer().serialize(await collect());
    const samples = [...text.matchAll(/^(security_events_\w+)\{(.*)\}/gm)];
    const names = new Set(samples.map(([, name]) => name));
    const labels = new Set(
      samples.flatMap(([, , list = '']) =>
        [...list.matchAll(/(\w+)="/g)].map(([, label]) => label),
      ),
    );
    const { panels } = JSON.parse(pageOf('grafana-dashboard.json')) as {
      readonly panels: readonly {
        readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
      }[];
    };
    const targets = panels.flatMap((panel) => panel.targets);
    const alerts = [...pageOf('prometheus-alerts.yaml').matchAll(/^ +expr: (.+)$/gm)].map(
      ([, expr = '']) => expr,
    );
    expect(alerts.length).toBeGreaterThan(2);
    for (const [, name] of pageOf('operations.md').matchAll(/`(SecurityEvents\w+)`/g)) {
      expect(pageOf('prometheus-alerts.yaml')).toContain(`- alert: ${name}\n`);
    }
    const queries = [...targets.map(({ expr }) => expr), ...alerts].map((query) =>
      query.replaceAll(/\((?:_seconds|_bytes)\)\?/g, ''),
    );
    const named = queries.flatMap((query) => query.match(/security_events_\w+/g) ?? []);
    expect(named.filter((name) => !names.has(name))).toEqual([]);
    expect(queries.filter((query) => !query.includes('security_events_'))).toEqual([]);
    const used = [
      ...targets.flatMap(({ legendFormat }) =>
        [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label),
      ),
      ...queries.flatMap((query) =>
        [...query.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
      ),
      ...queries.flatMap((query) =>
        [...query.matchAll(/[{, ](\w+)!?=~?"/g)].map(([, label]) => label),
      ),
    ];
    expect(
      used.filter((label) => !['le', '__name__'].includes(label ?? '') && !labels.has(label)),
    ).toEqual([]);
  });

  test('alerts on each missing destination, except disabled ones', () => {
    const [, expression = ''] =
      /alert: SecurityEventsDestination\n +expr: (.+)/.exec(pageOf('prometheus-alerts.yaml')) ?? [];
    const selectors = [...expression.matchAll(/changes_total\{([^}]*)\}/g)].map(([, one]) => one);
    const alerting = (labels: Readonly<Record<string, string>>) =>
      selectors.map((selector) => matches(selector, labels));
    expect(alerting({ change: 'missing', reason: 'unknown' })).toEqual([true, true]);
    expect(alerting({ change: 'closed' })).toEqual([true, true]);
    expect(alerting({ change: 'missing', reason: 'disabled' })).toEqual([false, false]);
    expect(alerting({ change: 'opened' })).toEqual([false, false]);
  });
});
