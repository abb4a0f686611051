import * as express from '../../src/capture/adapters/express.ts';
import * as fastify from '../../src/capture/adapters/fastify.ts';
import * as hono from '../../src/capture/adapters/hono.ts';
import { identifiersOfUser } from '../../src/capture/adapters/login-identifiers.ts';
import * as nodeHttp from '../../src/capture/adapters/node-http.ts';
import { captureRequests as overHttp } from '../../src/capture/adapters/node-http.ts';
import * as passport from '../../src/capture/adapters/passport.ts';
import * as entry from '../../src/capture/index.ts';
import { parameterCopier } from '../../src/capture/request/parameters.ts';
import { plain, throughout, unchangedByPollution } from './law.ts';

const {
  blockRequest,
  createEnrichment,
  createRequestCapture,
  currentContext,
  describeAddress,
  explainClientAddress,
  fetchRequest,
  identify,
  maxmindEnricher,
  networkListEnricher,
  RequestBlockedError,
} = entry;

const REQUEST = {
  method: 'POST',
  url: '/a/b?q=1',
  headers: {
    host: 'shop.example',
    'content-type': 'application/json',
    'x-forwarded-for': '9.9.9.9',
  },
  socket: { remoteAddress: '8.8.8.8', remotePort: 4711 },
  body: { a: 1 },
  params: { id: '7' },
};
const BARE = { headers: {}, socket: { remotePort: 4711 } };
const FORWARDED = { ...BARE, headers: { forwarded: 'for=203.0.113.9;proto=https;host=a.example' } };
const FETCHED = { method: 'GET', url: 'https://a.example/x?y=1', headers: new Headers() };

const capture = createRequestCapture();
const trusting = createRequestCapture({ trustedProxies: 1, addressHeader: 'forwarded' });
const enrichers = [() => ({ tor: true, geo: { city: 'half a place' } as never }), () => ({})];
const enrichment = createEnrichment({ enrichers });

const ADDRESSES = ['8.8.8.8', '::1', '::ffff:10.0.0.1', 'x'];

const HALF = {
  a: 1,
  get b() {
    return 1;
  },
};

unchangedByPollution(
  entry,
  {
    blockRequest: [throughout('', () => capture.run(REQUEST, () => blockRequest()))],
    createEnrichment: [
      throughout('', async () => {
        const made = createEnrichment({ enrichers });
        const facts = made.factsOf('8.8.8.8');
        return [facts, await made.stats(), describeAddress('8.8.8.8', { enrichment })];
      }),
      throughout('with an unknown option', () => createEnrichment({ evil: 1 } as never)),
    ],
    createRequestCapture: [
      throughout('', () =>
        [capture, createRequestCapture({})].map((one) => one.contextOf(REQUEST)),
      ),
      throughout('of a bare request', () => capture.contextOf(BARE)),
      throughout('of a forwarded request', () => trusting.contextOf(FORWARDED)),
      throughout('copying parameters', () => parameterCopier({})({ json: HALF })),
    ],
    describeAddress: [throughout('', () => ADDRESSES.map((text) => describeAddress(text, {})))],
    explainClientAddress: [
      throughout('', () => explainClientAddress(REQUEST, {})),
      throughout('behind a proxy', () => explainClientAddress(REQUEST, { trustedProxies: 1 })),
    ],
    fetchRequest: [throughout('', () => capture.contextOf(fetchRequest(FETCHED)))],
    identify: [
      throughout('', () => [
        capture.run(REQUEST, () => [identify({ uid: 7 }), currentContext().actor]),
        [{ id: 7 }, 'a', {}].map((user) => identifiersOfUser(user)),
      ]),
    ],
    maxmindEnricher: [throughout('without a path', () => maxmindEnricher({} as never))],
    networkListEnricher: [
      throughout('', () =>
        networkListEnricher({ networks: ['8.8.8.0/24'], marks: 'tor' })('8.8.8.8'),
      ),
    ],
    RequestBlockedError: [throughout('', () => new RequestBlockedError().status)],
  },
  ['currentContext'],
);

/** A response that is answered at most once. */
function answering() {
  const answered: unknown[] = [];
  const response = {
    headersSent: false,
    statusCode: 200,
    removeHeader: () => {},
    setHeader: (...header: readonly unknown[]) => void answered.push(header),
    end: (text: string) => void answered.push(text),
    destroy: () => void answered.push('destroyed'),
  };
  return { response, answered };
}

const contextIn = (found: unknown[]) => () => {
  found.push(currentContext());
  blockRequest();
};

unchangedByPollution(nodeHttp, {
  captureRequests: [
    throughout('', () => {
      const { response, answered } = answering();
      overHttp(contextIn(answered), {})(REQUEST as never, response as never);
      return [response.statusCode, answered];
    }),
    throughout('breaking an answer off', () => {
      const { response, answered } = answering();
      const begun = { ...response, headersSent: true };
      overHttp(contextIn([]), {})(REQUEST as never, begun as never);
      return answered;
    }),
  ],
});

unchangedByPollution(
  express,
  {
    captureRequests: [
      throughout('', () => {
        const { response, answered } = answering();
        const run = contextIn(answered);
        try {
          express.captureRequests({})(REQUEST, response, run);
        } catch (error) {
          express.answerBlocked()(error, REQUEST, response, () => void answered.push('passed on'));
        }
        return [response.statusCode, answered];
      }),
    ],
  },
  ['answerBlocked'],
);

type Hook = (...given: readonly unknown[]) => void;

unchangedByPollution(fastify, {
  captureRequests: [
    throughout('', async () => {
      const { response, answered } = answering();
      const hooks = new Map<string, Hook>();
      const app = { addHook: (name: string, hook: Hook) => void hooks.set(name, hook) };
      await fastify.captureRequests(app as never, {});
      const { body: _body, params: _params, ...raw } = REQUEST;
      const request = { raw };
      const reply = { raw: response, getHeaders: () => ({}), hijack: () => {} };
      hooks.get('onRequest')?.(request, reply, () => answered.push(currentContext()));
      hooks.get('onError')?.(request, reply, new RequestBlockedError(), () => {});
      hooks.get('onSend')?.(request, reply, {}, () => answered.push('passed on'));
      return [response.statusCode, answered];
    }),
  ],
});

unchangedByPollution(hono, {
  captureRequests: [
    throughout('', async () => {
      const found: unknown[] = [];
      const req = { raw: FETCHED, routeIndex: 0, param: () => ({}), valid: () => undefined };
      const c = { env: {}, req, error: undefined, finalized: false };
      await hono.captureRequests({})(c as never, () => {
        found.push(currentContext());
        return Promise.resolve();
      });
      return found;
    }),
  ],
});

unchangedByPollution(passport, {
  reportLogins: [
    plain('', (during) => {
      const reported: unknown[] = [];
      const reporter = { userLogin: (...given: readonly unknown[]) => void reported.push(given) };
      const strategy = {
        name: 'local',
        _usernameField: 'user',
        authenticate(this: { success: (user: object) => void }) {
          this.success({ id: 7 });
        },
        success: () => {},
        fail: () => {},
        pass: () => {},
      };
      const host = { authenticate: () => {}, _strategy: () => strategy };
      during(() => {
        passport.reportLogins(host, { reporter });
        const lookUp = Reflect.get(host, '_strategy') as () => object;
        const watched = lookUp();
        const authenticate = Reflect.get(watched, 'authenticate') as () => void;
        capture.run(REQUEST, () => Reflect.apply(authenticate, watched, [REQUEST]));
      });
      return reported;
    }),
    throughout('without a reporter', () => passport.reportLogins({} as never, {} as never)),
  ],
});
