/** The security agent of an application: it blocks attacks and exploits, and reports them. */
import { randomUUID } from 'node:crypto';
import type { Reporter } from 'security-event-delivery';
import { blockRequest } from 'security-event-delivery/capture';
import { isSqlInjection, leavesFolder } from './detector.ts';

const PLAYBOOK = { name: 'Notify On Repeated Attacks v1.0', attackCount: 2 };

/** Both methods end the current request with a 403 where there is something to report. */
export interface Guard {
  /** Watches what comes in: the query of the URL that is requested. */
  checkQuery(url: string): void;
  /** Watches what is done. What is seen here would do harm, so it is an exploit and no mere attack. */
  checkFile(folder: string, name: string): void;
}

export function createGuard(reporter: Reporter): Guard {
  // All SQL injections belong to one incident. Whether a report creates or updates it, and what of
  // it is new, the reporter knows.
  const incident = {
    incident_id: randomUUID(),
    incident_type: 'sql_injection',
    name: 'SQL injection attempts',
    severity: 'major',
  } as const;
  let attackCount = 0;

  const reportAttack = (): void => {
    // Who it was and by what request is known: a reporter asks the host adapter.
    reporter.attack({ ruleset: 'sql_injection' }, { module: 'sql-injection' });
    reporter.incident(incident, { module: 'sql-injection' });
    attackCount += 1;
    if (attackCount === PLAYBOOK.attackCount) reporter.playbookTrigger({ name: PLAYBOOK.name });
  };
  const reportExploit = (): void => {
    reporter.vulnerabilityExploit({ protection: 'lfi' }, { module: 'path-traversal' });
  };

  return {
    checkQuery(url) {
      const [, query] = url.split('?', 2);
      if (isSqlInjection(new URLSearchParams(query))) blockRequest(reportAttack);
    },
    checkFile(folder, name) {
      if (leavesFolder(folder, name)) blockRequest(reportExploit);
    },
  };
}
