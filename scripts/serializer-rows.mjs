/**
 * Code of src/contract/serializers.generated.ts, from the zod schemas: functions that validate a record or a message and
 * serialise it in one pass.
 */
import { contract, messageToSend } from '../src/contract/index.ts';
import { IPV6_PATTERN } from '../src/contract/ipv6-pattern.ts';
import { SerializerCode } from './serializer-code.mjs';

/** The fields that a sender needs besides a message's JSON. */
const CAPTURES = {
  message_id: { name: 'messageId', what: 'value' },
  message_type: { name: 'messageType', what: 'value' },
  message: { name: 'message', what: 'text' },
  v1: { name: 'v1', what: 'text' },
  'message.application_id': { name: 'application', what: 'value' },
  'message.application.id': { name: 'application', what: 'value' },
  'message.playbook.name': { name: 'playbook', what: 'value' },
};

const code = new SerializerCode({ ipv6Pattern: IPV6_PATTERN });
const inLine = { quote: 'quoteInLine' };

const optionsOf = (record) => record._zod.def.getter()._zod.def.options;

/** Returns the serialisers of payloads by event name: only the payload differs between the events of a request. */
function payloads(record, dialect) {
  const rows = optionsOf(record).flatMap((option) => {
    const { shape, checks = [] } = option._zod.def;
    const [name] = shape.event_name._zod.values ?? [];
    if (name === undefined || checks.length > 0) return [];
    const last = name.split('.').at(-1);
    return `${JSON.stringify(name)}: ${code.serializer(shape.payload, `${dialect} ${last} payload`.replaceAll(' ', '_'), inLine)},`;
  });
  return `{\n${rows.join('\n')}\n}`;
}

const rows = ['strict', 'open'].map((dialect) => {
  const { LogRecord } = contract({ dialect });
  const [{ _zod }] = optionsOf(LogRecord);
  return `${dialect}: {
    logRecord: ${code.serializer(LogRecord, `${dialect}_log_record`, inLine)},
    context: ${code.serializer(_zod.def.shape.context, `${dialect}_context`, inLine)},
    detectedAt: ${code.serializer(_zod.def.shape.detected_at, 'detected_at', inLine)},
    payloads: ${payloads(LogRecord, dialect)},
    messageToSend: ${code.serializer(messageToSend(dialect), `${dialect}_message`, { quote: 'quote', captures: CAPTURES })},
  },`;
});
const { imports, constants, functions } = code.text({ capturedType: 'CapturedFields' });

const source = `import {
  type Fragment,
  ${imports.join(',\n  ')},
} from './json-fragments.ts';

/** Fields of a message that its serialiser captures, so that they are read only once. */
export interface CapturedFields {
  messageId: string | undefined;
  messageType: string;
  /** As JSON. */
  message: string;
  /** Application id (D31). */
  application: string | undefined;
  /** Name of the playbook of a response. */
  playbook: string | undefined;
  /** As JSON. */
  v1: string | undefined;
}

${constants.join('\n')}

${functions.join('\n\n')}

export const SERIALIZERS = {
  ${rows.join('\n')}
} as const;
`;
/** Indents two spaces per open brace. */
function indented(lines) {
  let depth = 0;
  return lines.map((line) => {
    if (line.trim().startsWith('}')) depth -= 1;
    const text = line === '' ? '' : `${'  '.repeat(depth)}${line.trim()}`;
    if (line.endsWith('{')) depth += 1;
    return text;
  });
}

export const serializers = indented(source.split('\n')).join('\n');
