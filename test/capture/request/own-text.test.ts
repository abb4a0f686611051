import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  createEnrichment,
  createRequestCapture,
  type HttpRequest,
} from '../../../src/capture/index.ts';
import { ownText } from '../../../src/capture/request/clean-text.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const LONG = 100_000;
const TEXTS = 300;

const longText = (): string => Buffer.alloc(LONG, 'x').toString();

/** What stays in memory of requests that each brought a long text, once they are over. */
function keptOf(request: (index: number) => Partial<HttpRequest>): number {
  const enrichment = createEnrichment({ enrichers: [async () => ({ tor: true })] });
  const capture = createRequestCapture({ trustedProxies: 'loopback', enrichment });
  const socket = { remoteAddress: '127.0.0.1' };
  const serve = (index: number): void => {
    capture.contextOf({ headers: {}, socket, ...request(index) });
  };
  serve(-1);
  const before = heapBytes();
  for (let index = 0; index < TEXTS; index += 1) serve(index);
  const kept = heapBytes() - before;
  // Kept texts must still be reachable when the heap is measured.
  serve(-1);
  return kept;
}

describe('text that is kept of requests', () => {
  test.each<[string, (index: number) => Partial<HttpRequest>]>([
    [
      'a name of a parameter, the text that it stood in',
      (index) => ({ body: `{"member_of_a_long_text_${index}":1,${longText()}` }),
    ],
    [
      'an address, the header that it stood in',
      (index) => ({
        headers: { 'x-forwarded-for': `${longText()}, 198.51.${100 + (index % 100)}.100` },
      }),
    ],
  ])('does not keep the text that it was cut from: %s', (_what, request) => {
    expect(keptOf(request)).toBeLessThan((TEXTS * LONG) / 8);
  });
});

describe('ownText', () => {
  test.each(['', '😀', '\ud800 alone'])('returns the same text: %j', (text) => {
    expect(ownText(text)).toBe(text);
  });
});
