/** Validates one record against the contract repeatedly. */
import { attackRecord } from './inputs.mjs';

const WARM_UP_RECORDS = 20_000;

function checking(isValid) {
  const record = attackRecord();
  const run = (count) => {
    for (let done = 0; done < count; done += 1) {
      if (!isValid(record)) throw new Error('the record was rejected');
    }
  };
  return { warmUp: () => run(WARM_UP_RECORDS), run };
}

export const sides = {
  ours: async () => {
    const { LogRecord } = await import('security-event-delivery/contract');
    return checking((record) => LogRecord.safeParse(record).success);
  },
  ajv: async () => {
    const { Ajv2020 } = await import('ajv/dist/2020.js');
    const { default: formats } = await import('ajv-formats');
    const { default: schema } = await import(
      'security-event-delivery/schemas/log-record.strict.emitted.json',
      { with: { type: 'json' } }
    );
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    return checking(ajv.compile(schema));
  },
};
