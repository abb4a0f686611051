/**
 * The timers of Node as they were when this module was loaded. A host's tests may replace the global ones by fake ones
 * (`vi.useFakeTimers`, `jest.useFakeTimers`): calls of this library must still settle. `Date` stays the global one, since
 * such tests expect their date in records.
 */
// Jest can replace the global functions before it loads anything, but not those of the module.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

const clock = performance;

export const realTimers = {
  clearTimeout,
  setImmediate,
  setTimeout,
  nextTick: process.nextTick.bind(process),
  queueMicrotask,
  monotonicMs: (): number => clock.now(),
};
