/** `Frozen` makes values deeply readonly. */
import { currentContext, type RequestContext } from '../../src/capture/index.ts';
import type { Frozen, JsonObject, JsonValue, LogActor, LogHttp } from '../../src/contract/index.ts';
import {
  createLogWriter,
  createReporter,
  type EventContext,
  type LogRecord,
  type Reporter,
} from '../../src/index.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

const service = { svc_id: 'shop-1', name: 'shop', env: 'production' };
declare const reporter: Reporter;

same<Equal<IsAny<RequestContext['actor']>, false>>();
same<Equal<IsAny<Frozen<LogHttp>['request']['parameters']>, false>>();
same<Equal<Frozen<string | null>, string | null>>();
same<Equal<Frozen<[Date, { a: 1 }]>, readonly [Date, { readonly a: 1 }]>>();
same<Equal<Frozen<Record<string, number>>, Readonly<Record<string, number>>>>();

export function cannotChangeTheRequest(): void {
  const context = currentContext();
  const { actor, http } = context;
  if (actor === undefined || http === undefined) return;
  const { query = {}, form = [] } = http.request.parameters ?? {};
  // @ts-expect-error of the current request
  context.actor = actor;
  // @ts-expect-error one level down
  actor.svc_identifier = null;
  // @ts-expect-error the address
  actor.ip.address = '203.0.113.9';
  // @ts-expect-error a fact of it
  actor.ip.metadata.tor = true;
  // @ts-expect-error who it is
  (actor.identifiers ?? {})['id'] = 7;
  // @ts-expect-error how it was answered
  http.response.status = 200;
  // @ts-expect-error what it came with
  query['q'] = '';
  const list = form as Extract<typeof form, readonly unknown[]>;
  // @ts-expect-error what stands in a list
  list.push('more');
}

export function cannotChangeWhatWasRejected(): Reporter {
  return createReporter({
    service,
    onRejected: ({ context }) => {
      // @ts-expect-error it may be frozen
      context.module = 'waf';
      if (typeof context.actor?.ip !== 'object') return;
      // @ts-expect-error and so may be what it holds
      context.actor.ip.metadata.vpn = true;
    },
  });
}

export function mayBeHandedOn(record: LogRecord): unknown[] {
  const { actor, http } = currentContext();
  const known: EventContext = { ...currentContext(), module: 'waf' };
  const own: { actor: LogActor; http: LogHttp } = record.context as never;
  const json: Frozen<JsonValue> = record.payload as JsonObject;
  return [
    reporter.attack({ ruleset: 'xss' }, known),
    reporter.attack({ ruleset: 'xss' }, own),
    createReporter({
      service,
      context: currentContext,
      onRejected: ({ context }) => void reporter.userLogin({ success: true }, context),
    }),
    createLogWriter().write({
      context: { service, ...(actor && { actor }), ...(http && { http }) },
      detected_at: '2026-08-01T12:00:00Z',
      event_name: 'svc.ev0.threat.attack',
      event_version: '1.0.0',
      payload: { ruleset: 'crs' },
    }),
    json,
  ];
}
