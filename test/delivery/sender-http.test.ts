import { describe, expect, test } from 'vitest';
import { createCertificate } from '../../src/testing/index.ts';
import {
  applicationsOf,
  batches,
  ids,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  PATIENCE,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const NEVER = { schedule: { delaysMs: [600_000] } } as const;

describe('connections', () => {
  test('that die while they are idle cost an attempt, and no message', async () => {
    const receiver = await openReceiver({ script: [{ fault: 'close-idle' }] });
    const sender = senderTo(receiver, { schedule: { delaysMs: [1, 1, 1] } });
    for (const id of ids(3)) {
      await sender.send([message(id)]);
      await sender.flush();
    }
    expect([...receiver.messageIds()]).toEqual(ids(3).map((id) => [id, 1]));
    expect((await sender.stats()).delivered).toBe(3);
  });

  test('carry a time of each phase, and whether they were reused', async () => {
    const told = listen();
    const receiver = await openReceiver();
    const sender = senderTo(receiver);
    for (const id of ids(2)) {
      await sender.send([message(id)]);
      await sender.flush();
    }
    const [first, second] = told.of('attempt-settled');
    expect(first).toMatchObject({ status: 200, outcome: 'delivered', reusedConnection: false });
    expect(first?.timings.tcpMs).toBeGreaterThan(0);
    expect(first?.timings.totalMs).toBeGreaterThanOrEqual(Number(first?.timings.firstByteMs));
    expect(second).toMatchObject({ reusedConnection: true });
    expect(second?.timings).not.toHaveProperty('tcpMs');
  });
});

describe('TLS', () => {
  test('is verified, for each destination with the CA and the certificate that are its own', async () => {
    const told = listen();
    const client = createCertificate({ hosts: ['client.example'] });
    const own = await openReceiver({ tls: 'self-signed' });
    const strict = await openReceiver({
      tls: { ...createCertificate(), ca: client.cert, requestCert: true, rejectUnauthorized: true },
    });
    const unknown = await openReceiver({ tls: 'self-signed' });
    const { applications } = applicationsOf({ own, strict, unknown, stranger: strict });
    const tlsOf = {
      own: { ca: own.certificate },
      strict: { ca: strict.certificate, cert: client.cert, key: client.key },
      // The CA of another destination is not trusted.
      unknown: { ca: own.certificate },
      stranger: { ca: strict.certificate },
    };
    const sender = openSender({
      ...NEVER,
      settings: {
        applications: Object.fromEntries(
          Object.entries(tlsOf).map(([id, tls]) => {
            const application = applications[id];
            if (application === undefined) throw new Error(id);
            return [id, { ...application, tls }];
          }),
        ),
      },
    });
    await sender.send(Object.keys(tlsOf).map((id) => message(id, id)));
    await told.until('attempt-settled', 4);
    const ends = Object.fromEntries(
      told
        .of('attempt-settled')
        .map(({ applicationId, status, failure }) => [applicationId, status ?? failure]),
    );
    expect(ends).toMatchObject({ own: 200, strict: 200, unknown: 'tls' });
    // TLS 1.3 tells a client that it is refused after it has sent its request.
    expect(['tls', 'connection-reset']).toContain(ends['stranger']);
    expect(batches(own)).toEqual([['own']]);
    expect(batches(strict)).toEqual([['strict']]);
    expect(batches(unknown)).toEqual([]);
    expect((await sender.stats()).pending).toBe(2);
  });
});

describe('addresses', () => {
  test('of this machine are refused by default, at once where the URL has one (D82)', () => {
    expect(() =>
      openSender({ url: 'http://127.0.0.1:1/', secret: SECRET, network: 'public' }),
    ).toThrow(
      expect.objectContaining({
        code: 'ERR_ADDRESS_REFUSED',
        path: ['network'],
        message: expect.stringContaining("network: 'allow-private'"),
      }),
    );
  });

  test('that a name leads to are refused by default; the message waits and dies at the horizon', async () => {
    const told = listen();
    const receiver = await openReceiver();
    const sender = openSender({
      url: receiver.url.replace('127.0.0.1', 'localhost'),
      secret: SECRET,
      // As where no option says anything.
      network: undefined as never,
      schedule: { delaysMs: [20], repeatLast: true, horizonMs: 60 },
      openAfterFailures: 1000,
    });
    await sender.send(messages(2));
    expect(await sender.flush()).toEqual({
      delivered: 0,
      dead: 2,
      discarded: 0,
      settledElsewhere: 0,
      pending: 0,
      failures: [
        {
          applicationId: 'shop-1',
          failure: 'address-refused',
          detail: expect.stringContaining("network: 'allow-private'"),
        },
      ],
    });
    expect(receiver.connectionCount).toBe(0);
    const settled = told.of('attempt-settled');
    expect(settled.map(({ failure, outcome }) => [failure, outcome])).toEqual(
      settled.map(() => ['address-refused', 'later']),
    );
    expect((await sender.deadLetters()).items).toMatchObject(
      ids(2).map((message_id) => ({
        message_id,
        reason: 'horizon-passed',
        failure: 'address-refused',
        sends: settled.length,
      })),
    );
  });
});

describe('an attempt', () => {
  // What else a receiver may play ends one request as these do: see the tests of the wire.
  test.each(['hang', 'drip', 'not-http'] as const)(
    'at a receiver that plays "%s" ends, and the message is not lost',
    async (fault) => {
      const receiver = await openReceiver({ script: [{ fault }] });
      // Again and again: an attempt may also end since the machine stood still.
      const schedule = { delaysMs: [1], repeatLast: true };
      const sender = senderTo(receiver, { deadlineMs: 150, schedule });
      await sender.send(messages(2));
      expect(await sender.flush()).toMatchObject({ delivered: 2, dead: 0 });
      await receiver.waitForRequests(1, PATIENCE);
      // After a failed attempt each has a jitter of its own.
      expect(new Set(receiver.messageIds().keys())).toEqual(new Set(ids(2)));
      for (const { signatureOk } of receiver.requests) expect(signatureOk).toBe(true);
    },
  );
});
