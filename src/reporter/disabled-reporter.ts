/** A reporter that does nothing: `enabled: false`. */
import { NO_FATES, NOTHING_FLUSHED } from './message-sink.ts';
import { EventReceipt, type Receipt } from './receipt.ts';
import type { Reporter } from './reporter.ts';
import { ReporterCounters } from './reporter-stats.ts';

export function createDisabledReporter(): Reporter {
  const receipt = new EventReceipt({ outcome: 'skipped', reason: 'disabled' });
  const skip = (): Receipt => receipt;
  const counters = new ReporterCounters();
  const reporter: Reporter = {
    attack: skip,
    vulnerabilityExploit: skip,
    incident: skip,
    playbookTrigger: skip,
    userLogin: skip,
    userSignup: skip,
    customEvent: skip,
    with: () => reporter,
    stats: () => counters.snapshot(),
    flush: async () => NOTHING_FLUSHED,
    close: async () => ({ ...NO_FATES, returned: [], left: 0 }),
    [Symbol.asyncDispose]: async () => {},
  };
  return reporter;
}
