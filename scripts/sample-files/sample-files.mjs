/**
 * Generates sample payloads of every kind with the factories of the test kit, for readers in any language.
 * The build writes them into one folder per shape: `schemas/log-record.*.json` describe the files in
 * `log-record/`.
 */
import { fullElement, fullMessage, fullRecord } from './full-fields.mjs';

/** One of the injection types, which differ only in their name (D25). */
const INJECTION = 'injection_sql';

const SUFFIXED_EXPLOIT = 'svc.ev0.threat.vulnerability_exploit.lfi';

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
};

const indented = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** Returns the smallest sample of a kind and one with every field. */
const pair = (folder, kind, { smallest, full }) => [
  { file: `${folder}/${kind}.json`, text: indented(smallest) },
  { file: `${folder}/${kind}.full.json`, text: indented(full) },
];

/** Returns a request body, byte for byte: without spaces and line feeds. */
const body = (folder, elements) => ({
  file: `${folder}/every-type.json`,
  text: JSON.stringify(elements),
});

/** Creates ids in ascending order, like those of a sender. */
function counter() {
  let count = 0;
  return () => {
    count += 1;
    return `01a1fd8c-6900-7000-8000-${String(count).padStart(12, '0')}`;
  };
}

/**
 * Returns the files of samples/, the same at each build.
 *
 * @param contract the entry `./contract`, for the vocabularies and the order of keys
 * @param kit the entry `./testing`, for the factories
 * @param createLogWriter of the main entry, to write the lines
 * @param platforms the log platforms to write lines for
 */
export function sampleFiles({ contract, kit, createLogWriter, platforms }) {
  const { EVENT_NAMES, MESSAGE_TYPES, INCIDENT_MESSAGE_TYPES, SVC_PAYLOAD_TYPES } = contract;
  const eventNames = [...EVENT_NAMES, SUFFIXED_EXPLOIT];
  const messageTypes = [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES, INJECTION];

  // Parsing sorts the keys in the order of the schema.
  const record = (name, more) => contract.LogRecord.parse(kit.sampleRecord(name, more));
  const message = (type, more) => contract.WebhookMessageV2.parse(kit.sampleMessage(type, more));
  const element = (type, more) => contract.WebhookMessageV1.parse(kit.sampleMessageV1(type, more));

  const line = (platform) => {
    const sink = kit.createLineSink();
    const options = { destination: sink, platform, activeSpan: () => SPAN };
    createLogWriter(options).write(record(EVENT_NAMES[0], fullRecord(EVENT_NAMES[0])));
    return { file: `log-line/${platform}.json`, text: sink.lines[0] };
  };

  const [newId, newV1Id] = [counter(), counter()];

  return [
    ...eventNames.flatMap((name) =>
      pair('log-record', name, { smallest: record(name), full: record(name, fullRecord(name)) }),
    ),
    ...platforms.map(line),
    ...messageTypes.flatMap((type) =>
      pair('webhook-message-v2', type, {
        smallest: message(type),
        full: message(type, fullMessage(type)),
      }),
    ),
    body(
      'webhook-body-v2',
      messageTypes.map((type) => message(type, { message_id: newId() })),
    ),
    ...SVC_PAYLOAD_TYPES.flatMap((type) =>
      pair('webhook-message-v1', type, {
        smallest: element(type),
        full: element(type, fullElement(type)),
      }),
    ),
    body(
      'webhook-body-v1',
      SVC_PAYLOAD_TYPES.map((type) =>
        element(type, { [type === 'security_event' ? 'event_id' : 'id']: newV1Id() }),
      ),
    ),
  ];
}
