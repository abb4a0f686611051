/** What all parts of an open queue share. */
import type { Clock } from '../../system/clock.ts';
import type { ApplicationRow } from '../queue.ts';
import type { Link, Requests } from './link.ts';
import type { LoadNats } from './load-nats.ts';
import type { Names } from './names.ts';
import type { Time } from './server-time.ts';
import type { Store } from './store.ts';

export interface Surroundings {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly load: LoadNats;
  /** In place of the server's; only tests give one. */
  readonly time?: Time;
  /** In place of `MAX_KEPT`; only tests give one. */
  readonly maxKept?: number;
}

export interface Beginning {
  readonly row: ApplicationRow;
  readonly lingerMs: number;
}

export interface Session {
  readonly link: Link;
  readonly requests: Requests;
  readonly store: Store;
  readonly names: Names;
  readonly time: Time;
  /** It was stamped before now. */
  readonly stamped: (stampMs: number) => void;
  readonly clock: Clock;
  /** Unique among handles. */
  readonly handle: string;
  readonly newId: () => string;
  readonly beginning: () => Beginning;
  readonly bounds: { readonly maxPendingMessages: number; readonly maxPendingBytes: number };
  readonly maxPayload: number;
  /** How many messages are kept in mind: of those that no row knows, and of those that rows do. */
  readonly maxKept: number;
  readonly callTimeoutMs: number;
}
