import { beforeAll, describe, expect, test } from 'vitest';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import { type Certificate, createCertificate } from '../../../src/testing/index.ts';
import { clockStartingAfter } from '../../helpers/clocks.ts';
import { responseHeaders } from '../../helpers/http.ts';
import { hostDispatcher, openPoster, openReceiver, requestTo } from '../../helpers/poster.ts';
import { dripBody, hang, respond } from '../../helpers/receiver.ts';

describe('the timings of an attempt', () => {
  let certificate: Certificate;
  beforeAll(() => {
    certificate = createCertificate({ hosts: ['localhost', '127.0.0.1'] });
  });

  test.each([
    ['http and an address', false, '127.0.0.1', ['tcpMs']],
    ['https and a name', true, 'localhost', ['dnsMs', 'tcpMs', 'tlsMs']],
  ])('report each phase once for %s, and none if the connection is reused', async (...row) => {
    const [, isTls, urlHost, phases] = row;
    const receiver = await openReceiver({ urlHost, ...(isTls ? { tls: certificate } : {}) });
    const poster = openPoster();
    const request = requestTo(receiver.url, { tls: { ca: certificate.cert } });
    const [first, second] = [await poster.post(request), await poster.post(request)];

    expect(first).toMatchObject({ status: 200, reusedConnection: false });
    expect(Object.keys(first.timings)).toEqual([...phases, 'firstByteMs', 'totalMs']);
    const { firstByteMs = 0, totalMs, ...connecting } = first.timings;
    const connectMs = Object.values(connecting).reduce((sum, ms) => sum + ms, 0);
    expect(Math.min(...Object.values(connecting))).toBeGreaterThan(0);
    expect(connectMs).toBeLessThan(firstByteMs);
    expect(firstByteMs).toBeLessThanOrEqual(totalMs);

    expect(second).toMatchObject({ status: 200, reusedConnection: true });
    expect(Object.keys(second.timings)).toEqual(['firstByteMs', 'totalMs']);
  });

  test('separate the wait for headers from the rest of the body', async () => {
    const late = respond({ delayMs: 40, body: 'ok' });
    const receiver = await openReceiver({ script: [late, dripBody(10)] });
    const dripping = responseHeaders(2);
    const poster = openPoster({
      deadlines: { totalMs: 50 },
      clock: clockStartingAfter(() => dripping),
    });
    const [waited, dripped] = [
      await poster.post(requestTo(receiver.url)),
      await poster.post(requestTo(receiver.url)),
    ];
    expect(waited.timings.firstByteMs).toBeGreaterThan(38);
    const { firstByteMs = 0, totalMs } = dripped.timings;
    expect(totalMs).toBeGreaterThan(48);
    expect(totalMs - firstByteMs).toBeGreaterThan(40);
    expect(dripped).toMatchObject({ status: 200, reusedConnection: true });
  });

  test('contain the completed phases when an attempt fails', async () => {
    const receiver = await openReceiver({ script: [respond(), hang()] });
    // Only one deadline passes in each attempt, and starts when its connection or request exists.
    let passing = 0;
    const clock = clockStartingAfter(async (ms) => {
      if (ms !== passing) await new Promise(() => {});
      if (ms === 50) await receiver.received(receiver.requests.length + 1);
      else await receiver.connected(receiver.connectionCount + 1);
      // The client hears of it in one of the next turns.
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    });
    const poster = openPoster({ deadlines: { connectMs: 30, headersMs: 50 }, clock });
    await poster.post(requestTo(receiver.url));
    passing = 50;
    const results = [
      await poster.post(requestTo(receiver.url)),
      await poster.post(requestTo(receiver.url)),
    ];
    passing = 30;
    results.push(await poster.post(requestTo(receiver.url.replace('http', 'https'))));
    expect(
      results.map(({ timings, reusedConnection, ...result }) => [
        'code' in result && result.code,
        Object.keys(timings),
        reusedConnection,
      ]),
    ).toEqual([
      ['headers-timeout', ['totalMs'], true],
      ['headers-timeout', ['tcpMs', 'totalMs'], false],
      ['connect-timeout', ['tcpMs', 'totalMs'], false],
    ]);
    expect(results[1]?.timings.totalMs).toBeGreaterThan(48);
  });

  test('have no phases and no reuse with the host’s dispatcher', async () => {
    const receiver = await openReceiver({ script: [respond({ delayMs: 20 })] });
    const poster = openPoster({ network: 'delegated', dispatcher: hostDispatcher() });
    for (let sends = 0; sends < 2; sends += 1) {
      const result = await poster.post(requestTo(receiver.url));
      expect(Object.keys(result)).not.toContain('reusedConnection');
      expect(Object.keys(result.timings)).toEqual(['firstByteMs', 'totalMs']);
      expect(result.timings.firstByteMs).toBeGreaterThan(18);
    }
  });
});
