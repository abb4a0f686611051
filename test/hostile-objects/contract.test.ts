import type * as z from 'zod';
import * as entry from '../../src/contract/index.ts';
import { MODES } from '../contract/cases/case.ts';
import { schemasFor } from '../contract/cases/judge.ts';
import { DRAFTS, LINE, namesOf, RECORDS, SAMPLES } from '../contract/samples.ts';
import { throughout, unchangedByPollution, withZod } from './law.ts';

const { contract, messageToSend, parseLogLine, slugify } = entry;

/** What a schema makes of each: the output, or every fault. */
const readings = (pairs: readonly (readonly [z.ZodType, unknown])[]) => () =>
  pairs.map(([schema, value]) => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    return result.error.issues.map(({ path, message }) => ({ path, message }));
  });

/** The two modes that differ most. */
const READ_AND_WRITTEN = MODES.filter(
  ({ dialect, reading }) => (dialect === 'strict') === (reading === 'emitted'),
);
const SOUND = READ_AND_WRITTEN.flatMap((mode) =>
  namesOf(SAMPLES).flatMap((name) =>
    // Of a sample that fits several schemas, the first is enough.
    schemasFor(name, mode)
      .slice(0, 1)
      .map((schema) => [schema, SAMPLES[name]] as const),
  ),
);
const { context, ...rest } = RECORDS.login;
const FAULTY = [
  { ...RECORDS.login, payload: undefined },
  { ...rest, context: { ...context, own: 1 } },
];
const faulty = MODES.flatMap(({ dialect, reading }) =>
  FAULTY.map((value) => [contract({ dialect, reading }).LogRecord, value] as const),
);
const drafts = Object.values(DRAFTS).map((draft) => [messageToSend('strict'), draft] as const);
const line = JSON.stringify({ ...LINE, more: 1 });
const reading = { dialect: 'open', reading: 'received' } as const;

unchangedByPollution(
  entry,
  {
    contract: [
      throughout('without options', () => contract({}) === contract()),
      throughout('with options', () => contract(reading) === contract({ ...reading })),
      withZod(throughout('of what follows it', readings(SOUND))),
      withZod(throughout('of what breaks it', readings(faulty))),
    ],
    messageToSend: [withZod(throughout('', readings(drafts)))],
    parseLogLine: [
      withZod(throughout('', () => parseLogLine(line))),
      withZod(throughout('of another record', () => parseLogLine('{}'))),
    ],
    slugify: [throughout('', () => slugify('Block IPs'))],
  },
  ['decodeSvcIdentifier', 'encodeSvcIdentifier'],
);
