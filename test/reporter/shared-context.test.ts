/** Events that share a context, compared with events whose context is read each time, on both channels. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRequestCapture } from '../../src/capture/request/request-capture.ts';
import {
  currentContext,
  identify,
  RequestScope,
  runInScope,
} from '../../src/capture/request/request-scope.ts';
import type { LogActor, LogHttp } from '../../src/contract/index.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { SharedContextCache } from '../../src/reporter/shared-context.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { nextTurn } from '../../src/runtime/yield-to-event-loop.ts';
import { RECORDS } from '../contract/samples.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { whilePolluted } from '../hostile-objects/pollution.ts';
import { countedIds, openReporter, SERVICE } from './open-reporter.ts';

const AT = Date.parse('2026-08-01T12:00:00.000Z');
/** With it no context is shared, and no record is changed. */
const UNSHARED: Partial<ReporterOptions> = { beforeSend: () => {} };

const idle = () => Promise.reject(new Error('never asked'));

/** A reporter whose lines, messages, rejections and counters are recorded. */
function opened(options: Partial<ReporterOptions>, now = AT) {
  const messages: unknown[] = [];
  const send = async (given: readonly object[], selection?: object) => {
    messages.push(structuredClone([given, selection]));
    return { accepted: ['any'], skipped: [] };
  };
  const { reporter, sink, rejected } = openReporter(
    { webhook: { send, flush: idle, close: idle }, ...options },
    { clock: { ...systemClock, now: () => now }, newId: countedIds() },
  );
  const outcome = async () => {
    // Messages are sent when the synchronous run is over.
    await nextTurn();
    return {
      lines: sink.lines,
      messages: JSON.stringify(messages),
      rejected: rejected.map(({ channel, error }) => [channel, error.code, error.path]),
      stats: await reporter.stats(),
    };
  };
  return { reporter, outcome };
}

type Report = (reporter: Reporter) => unknown;

interface Scene {
  readonly reports: readonly Report[];
  readonly context?: { readonly actor?: unknown; readonly http?: unknown } | undefined;
  readonly now?: number;
  readonly options?: Partial<ReporterOptions>;
}

async function play({ reports, context, now }: Scene, options: Partial<ReporterOptions>) {
  const { reporter, outcome } = opened(options, now);
  const work = () => JSON.stringify(reports.map((report) => report(reporter)));
  const scope = context && new RequestScope(() => structuredClone(context) as never);
  const receipts = scope === undefined ? work() : runInScope(scope, work);
  return { receipts, ...(await outcome()) };
}

const shared = (scene: Scene) => play(scene, scene.options ?? {});
const unshared = (scene: Scene) => play(scene, { ...scene.options, ...UNSHARED });

const sample = RECORDS['custom event'].context as {
  readonly actor: LogActor;
  readonly http: LogHttp;
};

const EACH: Readonly<Record<string, Report>> = {
  attack: (reporter) => reporter.attack({ ruleset: 'sql_injection' }),
  'attack of a module': (reporter) => reporter.attack({ ruleset: 'xss' }, { module: 'waf' }),
  'attack with overrides': (reporter) =>
    reporter.attack({ ruleset: 'xss' }, { webhook: { title: 'Script', message_id: 'm-1' } }),
  'attack that is not sent': (reporter) => reporter.attack({ ruleset: 'xss' }, { webhook: false }),
  'attack of the open dialect': (reporter) => reporter.attack({ ruleset: 'ssrf_attempt' }),
  'attack of another actor': (reporter) =>
    reporter.attack({ ruleset: 'lfi' }, { actor: { ip: '203.0.113.10' } }),
  'attack at another time': (reporter) =>
    reporter.attack({ ruleset: 'lfi' }, { detected_at: '2026-08-01T14:00:00+02:00' }),
  exploit: (reporter) => reporter.vulnerabilityExploit({ protection: 'lfi' }),
  incident: (reporter) =>
    reporter.incident({ incident_id: 'i', incident_type: 'xss', name: 'n', severity: 'major' }),
  playbook: (reporter) => reporter.playbookTrigger({ name: 'Block IPs' }),
  login: (reporter) => reporter.userLogin({ success: true }),
  signup: (reporter) => reporter.userSignup({ success: false }),
  custom: (reporter) => reporter.customEvent('order.placed', { total: 12.5, deep: [{ a: null }] }),
  'payload with keys of no value': (reporter) =>
    reporter.attack({ ruleset: 'xss', more: undefined } as never),
  'payload that is a text': (reporter) => reporter.attack('xss' as never),
  'payload of a class': (reporter) => reporter.attack(new URL('urn:a') as never),
  'payload with more than it may have': (reporter) =>
    reporter.attack({ ruleset: 'xss', more: 1 } as never),
};

const CONTEXTS: Readonly<Record<string, Scene['context']>> = {
  'no scope': undefined,
  'nothing known': {},
  'all of it known': sample,
  'an actor alone': { actor: sample.actor },
  'a request alone': { http: sample.http },
  'an address of the open dialect': {
    actor: { ...sample.actor, ip: { ...sample.actor.ip, address: '2001:db8::7' } },
  },
  'an invalid address': {
    actor: { ...sample.actor, ip: { ...sample.actor.ip, address: 'nowhere' } },
  },
  'text to be escaped': { actor: { ...sample.actor, identifiers: { 'a"\n\ud800': 'b\\\u2028' } } },
};

/** Among them the first and the last that a timestamp can have, and times beyond. */
const TIMES = [AT, 0, AT + 0.5, 253_402_300_799_999, 253_402_300_800_000, -1, Number.NaN];

const OPTIONS: readonly Partial<ReporterOptions>[] = [
  {},
  { suffix: true },
  { dialect: 'strict' },
  { log: false },
];

test.each(Object.entries(EACH))(
  'an event that shares its context is reported as without sharing, first and again: %s',
  async (_name, report) => {
    const word = fc.constantFrom('xss', 'lfi', 'sql_injection', 'a b', '', '\ud800', 'é"');
    const payload = fc.oneof(fc.record({ ruleset: word }), fc.anything());
    const other = payload.map(
      (one): Report =>
        (reporter) =>
          reporter.attack(one as never),
    );
    const scenes = fc.record({
      reports: fc.array(other, { maxLength: 1 }).map((others) => [report, ...others, report]),
      context: fc.oneof(
        fc.constantFrom(...Object.values(CONTEXTS)),
        fc.record({ actor: fc.jsonValue(), http: fc.jsonValue() }, { requiredKeys: [] }),
      ),
      now: fc.oneof({ weight: 3, arbitrary: fc.constant(AT) }, fc.constantFrom(...TIMES)),
      options: fc.constantFrom(...OPTIONS),
    });
    const examples = Object.values(CONTEXTS).flatMap((context) =>
      OPTIONS.map((options): [Scene] => [{ reports: [report, report], context, options }]),
    );
    await fc.assert(
      fc.asyncProperty(scenes, async (scene) => {
        const outcome = await shared(scene);
        expect(outcome).toEqual(await unshared(scene));
        expect(outcome.stats.reported).toBe(scene.reports.length);
      }),
      { numRuns: quickOrNightly(40, 1000), seed: 3, examples },
    );
  },
);

describe('the context of a scope', () => {
  const REQUEST = {
    method: 'POST',
    url: '/login?next=%2F',
    headers: { host: 'shop.example' },
    socket: { remoteAddress: '203.0.113.9', remotePort: 4711 },
  };

  test('is read again after a change', async () => {
    const { reporter, outcome } = opened({});
    let status: number | undefined;
    createRequestCapture().run(
      REQUEST,
      () => {
        reporter.attack({ ruleset: 'xss' });
        identify({ uid: 7 });
        reporter.attack({ ruleset: 'xss' });
        status = 403;
        reporter.attack({ ruleset: 'xss' });
      },
      () => status,
    );
    const contexts = (await outcome()).lines.map((line) => JSON.parse(line).context);
    expect(contexts.map(({ actor }) => actor.identifiers)).toEqual([null, { uid: 7 }, { uid: 7 }]);
    expect(contexts.map(({ http }) => http.response.status)).toEqual([undefined, undefined, 403]);
  });

  test('is frozen at every depth', async () => {
    const thawed: unknown[] = [];
    const find = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      if (!Object.isFrozen(value)) thawed.push(value);
      for (const part of Object.values(value)) find(part);
    };
    createRequestCapture().run({ ...REQUEST, body: { a: [{ b: 1 }] } }, () => {
      identify({ uid: 7 });
      find(currentContext());
      expect(currentContext().http?.request.parameters?.query).toEqual({ next: '/' });
    });
    expect(thawed).toEqual([]);
  });

  test('is read as usual after a prototype was polluted', async () => {
    const { reporter, outcome } = opened({});
    const report = () => reporter.attack({ ruleset: 'xss' });
    whilePolluted({ names: ['evil'], value: true }, report);
    report();
    const [first, second] = (await outcome()).lines;
    expect(first).toBe(second);
  });

  test('names the service of the reporter, when two report in turn', async () => {
    const shop = opened({});
    const other = opened({ service: { ...SERVICE, name: 'other' } });
    const pair = [shop, other];
    createRequestCapture().run(REQUEST, () => {
      for (const { reporter } of [...pair, ...pair]) reporter.attack({ ruleset: 'xss' });
    });
    const names = async ({ outcome }: typeof shop): Promise<string[]> =>
      (await outcome()).lines.map((line) => JSON.parse(line).context.service.name);
    expect(await names(shop)).toEqual(['shop', 'shop']);
    expect(await names(other)).toEqual(['other', 'other']);
  });

  test('is built once for the events of a request, and once for those outside', () => {
    const contexts = new SharedContextCache(SERVICE);
    const scope = new RequestScope(() => ({}));
    const request = scope.context();
    const inside = contexts.find(request, scope);
    expect(contexts.find(request, scope)).toBe(inside);
    const outside = contexts.find(request, undefined);
    expect(contexts.find(request, undefined)).toBe(outside);
    expect(outside).not.toBe(inside);
    whilePolluted({ names: ['evil'], value: true }, () => {
      expect(contexts.find(request, scope)).toBeUndefined();
    });
  });
});
