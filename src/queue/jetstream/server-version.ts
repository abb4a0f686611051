/** Which servers keep what they were given, and that it is told where one may not. */
import { channel } from 'node:diagnostics_channel';

/**
 * The oldest with which the trials of this queue were run and lost nothing. 2.9.10 loses sight of messages beside
 * which others were removed, until it is started anew, and replicas hold different messages once one of them was
 * killed (both seen); by their release notes up to 2.10.22 a new leader compares expectations with what it has not
 * applied yet, and what lies between was not tried.
 */
export const SOUND_VERSION = '2.10.27';

export function isSound(version = ''): boolean {
  const [least, parts] = [numbersIn(SOUND_VERSION), numbersIn(version)];
  const at = least.findIndex((number, index) => (parts[index] ?? 0) !== number);
  return at === -1 || (parts[at] ?? 0) > (least[at] ?? 0);
}

const numbersIn = (version: string): number[] => version.split(/[.-]/).map(Number);

/** On `node:diagnostics_channel`, told when a queue is opened. */
export const UNSOUND_CHANNEL = 'security-event-delivery:queue-server-unsound';

interface UnsoundServer {
  /** Of the queue's streams. */
  readonly prefix: string;
  /** Of the server that the queue is connected to; absent where it did not tell. */
  readonly version?: string;
  readonly leastVersion: string;
}

/** It is used all the same: with one process and without kills it mostly goes well. */
export function tellUnsound(prefix: string, version: string | undefined): void {
  if (isSound(version)) return;
  const told: UnsoundServer = {
    prefix,
    ...(version !== undefined && { version }),
    leastVersion: SOUND_VERSION,
  };
  channel(UNSOUND_CHANNEL).publish(told);
}
