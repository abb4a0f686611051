/**
 * The receiver that both senders send to, a process of its own: answers 200 as soon as a body has
 * come in, and counts after that. Tells its URL when it listens, and its totals when asked.
 */
import { createServer } from 'node:http';

/** Once in every message, and nowhere else. */
const MARK = Buffer.from('"message_id":');

const totals = { requests: 0, messages: 0, bytes: 0 };

function count(body) {
  totals.requests += 1;
  totals.bytes += body.length;
  for (let at = body.indexOf(MARK); at !== -1; at = body.indexOf(MARK, at + MARK.length)) {
    totals.messages += 1;
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.end();
    count(Buffer.concat(chunks));
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send(`http://127.0.0.1:${server.address().port}/hooks/security`);
});

process.on('message', () => process.send(totals));
// Also when the process that started this one has died.
process.once('disconnect', () => process.exit());
