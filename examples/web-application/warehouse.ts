/** Another protected application, on node:http: the warehouse of the shop. */
import type { RequestListener } from 'node:http';
import type { Reporter } from 'security-event-delivery';
import { identify } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/node-http';
import { createGuard } from './guard.ts';

export function createWarehouse(reporter: Reporter): RequestListener {
  const guard = createGuard(reporter);

  const answer: RequestListener = ({ method, url = '/' }, response) => {
    guard.checkQuery(url);
    const [path, query] = url.split('?', 2);
    const parameters = new URLSearchParams(query);
    switch (`${method} ${path}`) {
      case 'GET /stock':
        response.writeHead(200).end();
        break;
      case 'GET /labels':
        guard.checkFile('labels', parameters.get('file') ?? '');
        response.writeHead(200).end();
        break;
      case 'POST /login':
        identify({ badge: parameters.get('badge') ?? '' });
        response.writeHead(204).end();
        reporter.userLogin({ success: true });
        break;
      default:
        response.writeHead(404).end();
    }
  };

  // Around everything else. What the guard throws is answered here.
  return captureRequests(answer, { trustedProxies: 'loopback' });
}
