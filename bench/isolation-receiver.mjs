/**
 * Many receivers in one process: `/well` and `/spare` answer 200, `/fail` answers 500, `/hang`
 * never answers. Records the latency of each message, only for `/well`.
 */
import { createServer } from 'node:http';

const SENT = /"humanized_description":"sent (\d+\.\d+)"/g;

const totals = { well: 0 };
let latencies = [];

const now = () => performance.timeOrigin + performance.now();

function recordLatencies(body) {
  const arrivedAt = now();
  for (const [, sentAt] of body.toString('latin1').matchAll(SENT)) {
    totals.well += 1;
    latencies.push(arrivedAt - Number(sentAt));
  }
}

const ANSWERS = {
  '/well': (response, body) => {
    response.end();
    recordLatencies(body);
  },
  '/spare': (response) => response.end(),
  '/fail': (response) => response.writeHead(500).end(),
  '/hang': () => {},
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => ANSWERS[request.url](response, Buffer.concat(chunks)));
});
const address = { host: process.argv[2], port: 0, backlog: 4096 };
server.listen(address, () => process.send(`http://127.0.0.1:${server.address().port}`));

const COMMANDS = {
  totals: () => totals,
  reset: () => {
    latencies = [];
    return true;
  },
  p99: () => {
    const sorted = latencies.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length * 0.99)];
  },
};
process.on('message', (command) => process.send(COMMANDS[command]()));
process.once('disconnect', () => process.exit());
