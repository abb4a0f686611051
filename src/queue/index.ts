/** Queues, whichever they are: their contract, and the way from one into another. */
export { type DrainOptions, type DrainReport, drainTo } from './drain-to.ts';
export type { DeadReason, DiscardReason, Durability, MessageQueue, QueueStats } from './queue.ts';
