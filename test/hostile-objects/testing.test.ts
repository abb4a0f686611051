import { X509Certificate } from 'node:crypto';
import * as entry from '../../src/testing/index.ts';
import { LINE } from '../contract/samples.ts';
import { plain, throughout, unchangedByPollution, withGaps, withZod } from './law.ts';

const {
  createCertificate,
  createFakeClock,
  createLineSink,
  sampleMessage,
  sampleMessageToSend,
  sampleMessageV1,
  sampleRecord,
  startReceiver,
} = entry;

const line = `${JSON.stringify(LINE)}\n`;

unchangedByPollution(entry, {
  createCertificate: [
    withGaps(
      throughout('', () => {
        const { cert } = createCertificate({ validFrom: 0, validTo: 1e12 });
        const { subjectAltName, validFrom, validTo } = new X509Certificate(cert);
        return { subjectAltName, validFrom, validTo };
      }),
      // Node 24 asks for this option of a signature by name.
      'context',
    ),
  ],
  createFakeClock: [throughout('', () => createFakeClock().now())],
  createLineSink: [
    withZod(
      throughout('', () => {
        const sink = createLineSink();
        sink.write(line);
        return [sink.lines, sink.records];
      }),
    ),
  ],
  sampleMessage: [throughout('', () => sampleMessage('test', { message: { id: 'x' } }))],
  sampleMessageToSend: [throughout('', () => sampleMessageToSend('security_response'))],
  sampleMessageV1: [throughout('', () => sampleMessageV1('pulse'))],
  sampleRecord: [
    throughout('', () => sampleRecord('svc.ev0.user_event.login', { payload: { success: false } })),
  ],
  startReceiver: [
    withGaps(
      plain('', async (during) => {
        const started = await during(() => startReceiver({ script: [{ status: 204 }] }));
        await started.close();
        return new URL(started.url).pathname;
        // Node asks for the options of a server by name.
      }),
      'all backlog family fd handle highWaterMark hints keepAlive keepAliveInitialDelay maxHeaderSize noDelay order signal timeout verbatim',
    ),
    throughout('with an invalid step', () => startReceiver({ script: [{} as never] })),
  ],
});
