/** A Koa application reports and blocks an attack. */
import Koa from 'koa';
import { createReporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/koa';
import { serve, visit } from '../http.ts';
import { printRecord } from '../story.ts';

const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
});
const reportAttack = () => reporter.attack({ ruleset: 'sql_injection' });

const app = new Koa();
app.use(captureRequests({ trustedProxies: 'loopback' })); // before all other middleware
app.use((ctx) => {
  identify({ email: 'ada@example.com' }); // from your session
  if (/union select/i.test(String(ctx.query['search']))) blockRequest(reportAttack);
  ctx.body = 'nothing found';
});

const { url, close } = await serve(app.callback());
await visit('203.0.113.9', `${url}/products?search=shoes`);
await visit('203.0.113.9', `${url}/products?search=1 union select 2`);
close();
lines.forEach(printRecord);
