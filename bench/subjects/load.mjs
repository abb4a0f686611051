/** Imports modules into a fresh process. */

const WRITER = new URL('../../dist/log/writer.js', import.meta.url).href;

const importing =
  (...modules) =>
  () => ({
    run: async () => {
      for (const module of modules) await import(module);
    },
  });

export const sides = {
  'our contract': importing('security-event-delivery/contract'),
  zod: importing('zod'),
  'our writer': importing(WRITER),
  'pino and zod': importing('pino', 'zod'),
  'our root entry': importing('security-event-delivery'),
  'zod, pino and uuid': importing('zod', 'pino', 'uuid'),
};
