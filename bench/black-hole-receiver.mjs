/**
 * As many receivers as there are addresses below 127.0.0.0/8, in one process: `/well` answers 200,
 * `/hang` takes the request and never answers. Keeps when the first message of each `/well` came.
 */
import { createServer } from 'node:http';

const firstAt = new Map();
const asked = new Set();
const hanging = new Set();

const now = () => performance.timeOrigin + performance.now();

const server = createServer((request, response) => {
  const { host } = request.headers;
  request.resume();
  request.on('end', () => {
    if (request.url === '/hang') {
      asked.add(host);
      hanging.add(response);
      response.on('close', () => hanging.delete(response));
      return;
    }
    if (!firstAt.has(host)) firstAt.set(host, now());
    response.end();
  });
});
server.keepAliveTimeout = 60_000;
const everywhere = { host: '0.0.0.0', port: 0, backlog: 4096 };
server.listen(everywhere, () => process.send(server.address().port));

const QUESTIONS = {
  served: () => firstAt.size,
  asked: () => asked.size,
  hanging: () => hanging.size,
  times: () => [...firstAt.values()],
};
process.on('message', (question) => process.send(QUESTIONS[question]()));
process.once('disconnect', () => process.exit());
