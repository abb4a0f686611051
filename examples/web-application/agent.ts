/**
 * A security agent in miniature, one method per event. Every event becomes a record on channel A;
 * attacks, exploits, incidents and playbooks also become a message on channel B.
 */
import { EVENT_VERSION, type LogWriter, slugify } from 'security-event-delivery';
import type { LogRecordInput } from 'security-event-delivery/contract';
import type { Deliveries } from './deliveries.ts';
import type { Incident } from './incidents.ts';
import { type Service, securityEvent, securityResponse, sqlInjectionIncident } from './messages.ts';
import type { RequestContext } from './request-context.ts';

/** What differs from event to event: its name, and the payload that belongs to the name. */
type Event<R = LogRecordInput> = R extends LogRecordInput
  ? Pick<R, 'event_name' | 'payload'>
  : never;

export type Agent = ReturnType<typeof createAgent>;

export interface AgentOptions {
  readonly service: Service;
  readonly log: Pick<LogWriter, 'write'>;
  readonly deliveries: Deliveries;
  /** Told of a record that could not be written; an agent never throws into its host. */
  readonly onFailure: (error: unknown) => void;
}

export function createAgent({ service, log, deliveries, onFailure }: AgentOptions) {
  const record = (event: Event, context: RequestContext, detectedAt = now()): void => {
    try {
      log.write({
        context: { ...context, service },
        detected_at: detectedAt,
        event_version: EVENT_VERSION,
        ...event,
      });
    } catch (error) {
      onFailure(error);
    }
  };

  return {
    attack(ruleset: 'sql_injection', context: RequestContext): void {
      const detectedAt = now();
      record({ event_name: 'svc.ev0.threat.attack', payload: { ruleset } }, context, detectedAt);
      deliveries.add(securityEvent(service, { ip: context.actor.ip, kind: ruleset, detectedAt }));
    },
    vulnerabilityExploit(protection: 'lfi', context: RequestContext): void {
      const detectedAt = now();
      record(
        { event_name: 'svc.ev0.threat.vulnerability_exploit', payload: { protection } },
        context,
        detectedAt,
      );
      deliveries.add(
        securityEvent(service, { ip: context.actor.ip, kind: protection, detectedAt }),
      );
    },
    incident(incident: Incident, context: RequestContext): void {
      const payload = {
        event_type: incident.attackCount === 1 ? 'create' : 'update',
        incident_id: incident.id,
        incident_type: 'sql_injection',
        name: `SQL injection attempts on ${service.name}`,
        severity: 'major',
      } as const;
      record({ event_name: 'svc.ev0.incident', payload }, context, incident.updatedAt);
      deliveries.add(sqlInjectionIncident(service, context.actor.ip, incident));
    },
    playbookTrigger(name: string, context: RequestContext): void {
      const payload = { name, playbook_slug: slugify(name) };
      record({ event_name: 'svc.ev0.playbook_trigger', payload }, context);
      deliveries.add(securityResponse(service, context.actor.ip, name));
    },
    userLogin(success: boolean, context: RequestContext): void {
      record({ event_name: 'svc.ev0.user_event.login', payload: { success } }, context);
    },
    userSignup(success: boolean, context: RequestContext): void {
      record({ event_name: 'svc.ev0.user_event.signup', payload: { success } }, context);
    },
    customEvent(name: string, options: Record<string, string>, context: RequestContext): void {
      const payload = { event_name: name, options };
      record({ event_name: 'svc.ev0.custom_event', payload }, context);
    },
  };
}

const now = (): string => new Date().toISOString();
