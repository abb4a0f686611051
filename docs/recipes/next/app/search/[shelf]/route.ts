import { blockRequest } from 'security-event-delivery/capture';
import { captured, reporter } from '../../../security';

export const GET = captured((request) => {
  const q = new URL(request.url).searchParams.get('q') ?? '';
  if (/union select/i.test(q)) blockRequest(() => reporter.attack({ ruleset: 'sql_injection' }));
  return new Response('nothing found');
});
