/** An AWS Lambda function behind an HTTP API reports an attack, and delivers it before it is frozen. */
import { createReporter, generateSecret } from 'security-event-delivery';
import { blockRequest } from 'security-event-delivery/capture';
import { captureRequests, type LambdaEvent } from 'security-event-delivery/lambda';
import { startReceiver } from 'security-event-delivery/testing';
import { printRecord, say } from '../story.ts';

const secret = generateSecret();
const receiver = await startReceiver({ secret });
const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
  webhook: { url: receiver.url, secret, network: 'allow-private' }, // the receiver is on this machine
});
const reportAttack = () => reporter.attack({ ruleset: 'sql_injection' });

export const handler = captureRequests(
  ({ body = '' }: LambdaEvent) => {
    if (/union select/i.test(body)) blockRequest(reportAttack);
    return { statusCode: 200, body: 'nothing found' };
  },
  // Delivers before the function returns, for at most 2 seconds.
  { flush: reporter, onUndelivered: console.error },
);

// What API Gateway and Lambda do.
for (const search of ['shoes', '1 union select 2']) {
  const event: LambdaEvent = {
    rawPath: '/search',
    rawQueryString: '',
    headers: { host: 'shop.example', 'content-type': 'application/json' },
    requestContext: { http: { method: 'POST', sourceIp: '203.0.113.9' } },
    body: JSON.stringify({ search }),
    isBase64Encoded: false,
  };
  const { statusCode } = await handler(event, { getRemainingTimeInMillis: () => 3000 });
  say(
    '203.0.113.9',
    `${statusCode} for ${search}; requests at the receiver: ${receiver.requests.length}`,
  );
}
const areVerified = receiver.requests.every(({ signatureOk }) => signatureOk);
say('receiver', `${areVerified ? 'every' : 'not every'} signature is verified`);
await reporter.close();
await receiver.close();
lines.forEach(printRecord);
