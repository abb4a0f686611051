/**
 * The receiver that both senders send to, a process of its own: answers 200 as soon as a body has
 * come in, and counts after that. Tells its URL when it listens, and its totals when asked.
 */
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** Once in every message, whoever sends it and in whatever envelope, and nowhere else. */
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

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.end();
    count(Buffer.concat(chunks), request.headers['content-encoding']);
  });
});
server.listen(0, process.argv[2], () => {
  process.send(`http://127.0.0.1:${server.address().port}/hooks/security`);
});

process.on('message', () => process.send(totals));
// Also when the process that started this one has died.
process.once('disconnect', () => process.exit());
