/** A misspelt option must not be ignored: each public function with options refuses unknown ones. */
import { expect, test } from 'vitest';
import * as capture from '../../src/capture/index.ts';
import { contract, parseLogLine } from '../../src/contract/index.ts';
import * as main from '../../src/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import * as receiving from '../../src/receiver/index.ts';
import * as testing from '../../src/testing/index.ts';

const secret = 'a secret';
const destination = { url: 'https://receiver.example/', secret };
const service = { svc_id: 'a', name: 'a', env: 'test' };
const receiver = receiving.createWebhookReceiver({ secret, onMessages: () => {} });
const requestOf = { headers: {}, socket: {} };
const sent = { date_created: '2026-01-01T00:00:00.000+00:00' };

/** Each call gets an option that no function has. */
const CALLS: Readonly<Record<string, (unknown: object) => unknown>> = {
  contract: (unknown) => contract(unknown),
  createCertificate: (unknown) => testing.createCertificate(unknown),
  createEnrichment: (unknown) => capture.createEnrichment({ enrichers: [], ...unknown }),
  createLineSink: (unknown) => testing.createLineSink(unknown),
  createLogWriter: (unknown) => main.createLogWriter(unknown),
  createMemoryDuplicates: (unknown) => receiving.createMemoryDuplicates(unknown),
  createMemoryIncidents: (unknown) => main.createMemoryIncidents(unknown),
  createMemoryQueue: (unknown) => createMemoryQueue(unknown),
  createReporter: (unknown) => main.createReporter({ service, ...unknown }),
  createRequestCapture: (unknown) => capture.createRequestCapture(unknown),
  createWebhookReceiver: (unknown) =>
    receiving.createWebhookReceiver({ secret, onMessages: () => {}, ...unknown }),
  createWebhookSender: (unknown) => main.createWebhookSender({ ...destination, ...unknown }),
  describeAddress: (unknown) => capture.describeAddress('8.8.8.8', unknown),
  explainClientAddress: (unknown) => capture.explainClientAddress(requestOf, unknown),
  explainSchedule: (unknown) => main.explainSchedule(unknown),
  fetchHandler: (unknown) => receiving.fetchHandler(receiver, unknown),
  isFresh: (unknown) => receiving.isFresh(sent, unknown),
  parseLogLine: (unknown) => parseLogLine('{}', unknown),
  sendWebhook: (unknown) => main.sendWebhook(destination, [], unknown),
  startReceiver: (unknown) => testing.startReceiver(unknown),
};

test.each(Object.entries(CALLS))('%s refuses an unknown option', async (_name, call) => {
  await expect((async () => call({ misspelt: 1 }))()).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
    path: ['misspelt'],
  });
});
