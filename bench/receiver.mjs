/**
 * The receiver of both sides, in its own process. Answers 200 as soon as it has the body, then counts.
 * Sends its URL to the parent when it listens, and its totals on request.
 */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { gunzipSync } from 'node:zlib';

/** Occurs once in every message, in any envelope, and nowhere else. */
const MARK = Buffer.from('"event_kind":');

const totals = { requests: 0, messages: 0, bytes: 0 };

function count(received, encoding) {
  totals.requests += 1;
  totals.bytes += received.length;
  const body = encoding === 'gzip' ? gunzipSync(received) : received;
  for (let at = body.indexOf(MARK); at !== -1; at = body.indexOf(MARK, at + MARK.length)) {
    totals.messages += 1;
  }
}

function receive(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.end();
    count(Buffer.concat(chunks), request.headers['content-encoding']);
  });
}

const [host, credentials] = process.argv.slice(2);
const server =
  credentials === undefined
    ? createServer(receive)
    : createTlsServer(JSON.parse(credentials), receive);
const scheme = credentials === undefined ? 'http' : 'https';
server.listen(0, host, () => {
  process.send(`${scheme}://127.0.0.1:${server.address().port}/hooks/security`);
});

process.on('message', () => process.send(totals));
// Also emitted when the parent process dies.
process.once('disconnect', () => process.exit());
