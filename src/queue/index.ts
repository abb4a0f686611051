/** The types of queues, whichever is used. */
export type {
  ApplicationState,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  DiscardReason,
  Durability,
  Ledger,
  MessageQueue,
  QueueStats,
} from './queue.ts';
