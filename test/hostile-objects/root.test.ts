import * as entry from '../../src/index.ts';
import { downgrade } from '../../src/projection/downgrade.ts';
import { MESSAGES } from '../contract/samples.ts';
import { throughout, unchangedByPollution, withJson, withZod } from './law.ts';
import { LOG_WRITER_CASES } from './log-writer.ts';
import { REPORTER_CASES } from './reporter.ts';
import { SEND_CASES, SENDER_CASES } from './webhook.ts';

const { createMemoryIncidents, explainSchedule, SecurityEventError, sign, slugify, verify } = entry;

const context = {
  application: { name: 'Shop', environment: 'test' },
  dialect: 'strict',
  acceptedAt: 'now',
  v1Aliases: true,
} as const;
const projected = [
  ...Object.values(MESSAGES),
  { ...MESSAGES.http_scan, v1: { blocked: true } },
] as Parameters<typeof downgrade>[0][];
const v1Form = throughout('in its v1 form', () => projected.map((one) => downgrade(one, context)));

const report = { applicationId: 'a', incidentId: 'b', channel: 'log', addresses: ['1'] } as const;

unchangedByPollution(
  entry,
  {
    createLogWriter: LOG_WRITER_CASES,
    createMemoryIncidents: [
      withJson(
        throughout('', () => createMemoryIncidents({}).record({ ...report, accounts: [], at: 1 })),
      ),
    ],
    createReporter: REPORTER_CASES,
    createWebhookSender: [...SENDER_CASES, withZod(v1Form)],
    explainSchedule: [throughout('', () => explainSchedule({ schedule: { delaysMs: [1, 2] } }))],
    SecurityEventError: [
      throughout('', () => new SecurityEventError('ERR_QUEUE_FULL').copy().message),
    ],
    sendWebhook: SEND_CASES,
    sign: [throughout('and verify', () => verify('a', sign('a', 'b'), 'b'))],
    slugify: [throughout('', () => slugify('Block IPs'))],
  },
  ['decodeSvcIdentifier', 'encodeSvcIdentifier', 'generateSecret', 'verify'],
);
