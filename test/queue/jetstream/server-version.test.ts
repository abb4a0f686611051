/** Servers that are told as unsound. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  SOUND_VERSION,
  tellUnsound,
  UNSOUND_CHANNEL,
} from '../../../src/queue/jetstream/server-version.ts';

const unsoundToldOf = (version: string | undefined): unknown[] => {
  const told: unknown[] = [];
  const listen = (message: unknown): void => void told.push(message);
  subscribe(UNSOUND_CHANNEL, listen);
  tellUnsound('p', version);
  unsubscribe(UNSOUND_CHANNEL, listen);
  return told;
};

describe('a server that may lose sight of messages', () => {
  test.each(['2.9.10', '2.10.26'])('is told, with its version %s', (version) => {
    expect(unsoundToldOf(version)).toEqual([{ prefix: 'p', version, leastVersion: SOUND_VERSION }]);
  });

  test('is told where it says no version', () => {
    expect(unsoundToldOf(undefined)).toEqual([{ prefix: 'p', leastVersion: SOUND_VERSION }]);
  });

  test.each([SOUND_VERSION, '2.10.28', '2.15.1', '3.0.0-beta.1'])('is not one of %s', (version) => {
    expect(unsoundToldOf(version)).toEqual([]);
  });

  test.each(['docs/queues.md', 'CHANGELOG.md', 'CONTRIBUTING.md'])(
    'is older than %s says',
    (page) => {
      const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
      const named = text.match(/(\d+\.\d+\.\d+) or newer/g) ?? [];
      expect(new Set(named.filter((words) => !words.startsWith('20.')))).toEqual(
        new Set([`${SOUND_VERSION} or newer`]),
      );
    },
  );
});
