/**
 * Serves requests without a network, which would take many times longer than the measured work: Node's
 * request and response objects on a socket that discards writes. Each side has its own process, because
 * AsyncLocalStorage slows down every promise of its process.
 */
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';

const WARM_UP_REQUESTS = 10_000;
const CLIENT = '203.0.113.9';

/** Headers as a browser behind a proxy sends them. */
const HEADERS = {
  host: 'shop.example.com',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.5',
  'accept-encoding': 'gzip, deflate, br',
  cookie: 'session=0a1b2c3d4e5f60718293a4b5c6d7e8f9; theme=dark',
  'x-forwarded-for': CLIENT,
  'x-forwarded-proto': 'https',
  connection: 'keep-alive',
};
const TARGET = '/catalog/search?q=shoes&page=2&sort=price';

/** A socket that discards writes and never has data to read. */
class Nowhere extends Duplex {
  remoteAddress = '127.0.0.1';
  remotePort = 41_234;
  encrypted = false;

  _read() {}

  _write(_chunk, _encoding, done) {
    done();
  }

  // A server of node:http calls this.
  setTimeout() {
    return this;
  }
}

function requestOn(socket) {
  const request = new IncomingMessage(socket);
  Object.assign(request, { method: 'GET', url: TARGET, httpVersion: '1.1' });
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.headers = { ...HEADERS };
  request.push(null);
  return request;
}

/** Resolves when the response is written and its listeners have run. */
async function serve(listener, socket) {
  const request = requestOn(socket);
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  const finished = once(response, 'finish');
  listener(request, response);
  await finished;
  response.detachSocket(socket);
  if (response.statusCode !== 200) throw new Error(`answered with ${response.statusCode}`);
}

/** A destination that counts lines and does nothing else. */
function counter() {
  const seen = { count: 0 };
  const write = () => {
    seen.count += 1;
    return true;
  };
  return { seen, write };
}

const entry = (name) => import(`security-event-delivery/${name}`);

/** Returns a function that reads the context of an event, or does nothing. */
async function reading(isRead) {
  const { currentContext } = await entry('capture');
  const seen = { count: 0 };
  const read = () => {
    if (currentContext().actor?.ip.address !== CLIENT) throw new Error('there is no context');
    seen.count += 1;
  };
  return { seen: isRead ? seen : undefined, happen: isRead ? read : () => {} };
}

const OPTIONS = { trustedProxies: 'loopback' };

/** For each host, a request listener: bare, with `captureRequests`, or with pino-http. */
const HOSTS = {
  'node:http': {
    bare: () => (_request, response) => response.end('found'),
    captured: async (happen) => {
      const { captureRequests } = await entry('node-http');
      return captureRequests((_request, response) => {
        happen();
        response.end('found');
      }, OPTIONS);
    },
    logged: async (destination) => {
      const { pinoHttp } = await import('pino-http');
      const log = pinoHttp({}, destination);
      return (request, response) => {
        log(request, response);
        response.end('found');
      };
    },
  },
  express: {
    bare: () => expressWith([], () => {}),
    captured: async (happen) => {
      const { answerBlocked, captureRequests } = await entry('express');
      return expressWith([captureRequests(OPTIONS)], happen, [answerBlocked()]);
    },
    logged: async (destination) => {
      const { pinoHttp } = await import('pino-http');
      return expressWith([pinoHttp({}, destination)], () => {});
    },
  },
  fastify: {
    bare: () => fastifyWith(() => {}),
    captured: async (happen) => {
      const { captureRequests } = await entry('fastify');
      return fastifyWith(happen, (app) => app.register(captureRequests, OPTIONS));
    },
    logged: async (destination) => {
      const { pinoHttp } = await import('pino-http');
      const log = pinoHttp({}, destination);
      return fastifyWith(
        () => {},
        (app) => app.addHook('onRequest', ({ raw }, reply, next) => log(raw, reply.raw, next)),
      );
    },
  },
  hono: {
    bare: () => honoWith([], () => {}),
    captured: async (happen) => {
      const { captureRequests } = await entry('hono');
      return honoWith([captureRequests(OPTIONS)], happen);
    },
    // Hono does not support node:http middleware, so pino-http runs before it.
    logged: async (destination) => {
      const { pinoHttp } = await import('pino-http');
      const log = pinoHttp({}, destination);
      const listener = await honoWith([], () => {});
      return (request, response) => {
        log(request, response);
        return listener(request, response);
      };
    },
  },
};

async function fastifyWith(happen, prepare = async () => {}) {
  const { default: Fastify } = await import('fastify');
  const app = Fastify();
  await prepare(app);
  app.get('/catalog/search', (_request, reply) => {
    happen();
    reply.send('found');
  });
  await app.ready();
  return (request, response) => app.routing(request, response);
}

async function honoWith(before, happen) {
  const { Hono } = await import('hono');
  const { getRequestListener } = await import('@hono/node-server');
  const app = new Hono();
  for (const middleware of before) app.use(middleware);
  app.get('/catalog/search', (context) => {
    happen();
    return context.text('found');
  });
  return getRequestListener(app.fetch);
}

async function expressWith(before, happen, after = []) {
  const { default: express } = await import('express');
  const app = express();
  for (const middleware of before) app.use(middleware);
  app.get('/catalog/search', (_request, response) => {
    happen();
    response.end('found');
  });
  for (const middleware of after) app.use(middleware);
  return app;
}

/** `seen` counts the work that the host must do once per request. */
function serving(listener, seen) {
  const socket = new Nowhere();
  const run = async (count) => {
    for (let done = 0; done < count; done += 1) await serve(listener, socket);
  };
  return {
    warmUp: () => run(WARM_UP_REQUESTS),
    run,
    check: (count) => {
      const expected = WARM_UP_REQUESTS + count;
      if (seen !== undefined && seen.count !== expected) {
        throw new Error(`${seen.count} of ${expected} were seen`);
      }
    },
  };
}

const sidesOf = ([name, { bare, captured, logged }]) => [
  [`${name}, bare`, async () => serving(await bare())],
  [`${name}, nothing happens`, async () => serving(await captured((await reading(false)).happen))],
  [
    `${name}, one event`,
    async () => {
      const { happen, seen } = await reading(true);
      return serving(await captured(happen), seen);
    },
  ],
  [
    `${name}, pino-http`,
    async () => {
      const { seen, write } = counter();
      return serving(await logged({ write }), seen);
    },
  ],
];

export const sides = Object.fromEntries(Object.entries(HOSTS).flatMap(sidesOf));
