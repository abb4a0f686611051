/** The application that is protected: a small shop on node:http. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Agent } from './agent.ts';
import { isSqlInjection, leavesFolder } from './detector.ts';
import { createIncidents } from './incidents.ts';
import { contextOf, urlOf } from './request-context.ts';

const PLAYBOOK = { name: 'Notify On Repeated Attacks v1.0', attackCount: 2 };

/** Decides the status that a request is answered with, and tells the agent what happened. */
type Handler = (request: IncomingMessage, agent: Agent) => Promise<number> | number;

const ROUTES: Readonly<Record<string, Handler>> = {
  'GET /products': () => 200,
  'GET /manuals': openManual,
  'POST /login': logIn,
  'POST /signup': signUp,
  'POST /orders': placeOrder,
};

function openManual(request: IncomingMessage, agent: Agent): number {
  // The attempt is seen where it would do harm, so it is an exploit and no mere attack.
  const isExploit = leavesFolder('manuals', urlOf(request).searchParams.get('page') ?? '');
  if (!isExploit) return 200;
  agent.vulnerabilityExploit('lfi', contextOf(request, { status: 403, isBlocked: true }));
  return 403;
}

async function logIn(request: IncomingMessage, agent: Agent): Promise<number> {
  const { email = '', password } = await readFields(request);
  const success = password === 'correct horse battery staple';
  const status = success ? 200 : 401;
  agent.userLogin(success, contextOf(request, { status, identifiers: { email } }));
  return status;
}

async function signUp(request: IncomingMessage, agent: Agent): Promise<number> {
  const { email = '' } = await readFields(request);
  agent.userSignup(true, contextOf(request, { status: 201, identifiers: { email } }));
  return 201;
}

async function placeOrder(request: IncomingMessage, agent: Agent): Promise<number> {
  const { product = '' } = await readFields(request);
  agent.customEvent('order.placed', { product }, contextOf(request, { status: 201 }));
  return 201;
}

/** The fields of a JSON body, as text: a visitor may send anything. */
async function readFields(request: IncomingMessage): Promise<Record<string, string>> {
  const fields = Object.entries(Object(await json(request)));
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
}

/** Answers an SQL injection, and sees in repeated ones an incident and a reason for a playbook. */
function createGuard(): Handler {
  const addToIncident = createIncidents();
  return (request, agent) => {
    const context = contextOf(request, { status: 403, isBlocked: true });
    agent.attack('sql_injection', context);
    const incident = addToIncident('sql_injection', new Date().toISOString());
    agent.incident(incident, context);
    if (incident.attackCount === PLAYBOOK.attackCount) {
      agent.playbookTrigger(PLAYBOOK.name, context);
    }
    return 403;
  };
}

/** Starts the shop on a free port of this machine. */
export async function startApplication(agent: Agent): Promise<{ url: string; close(): void }> {
  const guard = createGuard();

  const answer = async (request: IncomingMessage): Promise<number> => {
    const { pathname, searchParams } = urlOf(request);
    const route = ROUTES[`${request.method} ${pathname}`] ?? (() => 404);
    const handle = isSqlInjection(searchParams) ? guard : route;
    return handle(request, agent);
  };

  const server = createServer((request, response) => {
    answer(request)
      // A path that is none, or a body that is no JSON.
      .catch(() => 400)
      .then((status) => response.writeHead(status).end())
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
