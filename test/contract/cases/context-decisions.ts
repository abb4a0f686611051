import { type Decision, fits, halfFilled } from './decision.ts';

export const CONTEXT_DECISIONS: readonly Decision[] = [
  {
    title: 'D4 refuses a half-filled request',
    cases: [
      { host: 'x' },
      { path: 'x' },
      { user_agent: 'x' },
      { port: 80 },
      { remote_port: 80 },
      { referer: null },
      { parameters: {} },
    ].map((given) => halfFilled('attack', 'context.http.request', given)),
  },
  {
    title: 'D12 refuses a half-filled geo, and takes an empty one',
    cases: [
      fits('login', { 'context.actor.ip.geo': {} }),
      fits('login', { 'context.actor.ip.geo': { city: undefined, latitude: undefined } }),
      ...[{ city: 'Lyon' }, { country_code: 'FRA' }, { latitude: 45 }, { longitude: 4 }].map(
        (given) => halfFilled('attack', 'context.actor.ip.geo', given),
      ),
    ],
  },
];
