/**
 * Sample payloads of every kind for readers in any language, from the factories of the test kit. The
 * build writes them, into a folder for each shape: what is in `log-record/` is what
 * `schemas/log-record.*.json` are about.
 */
import { fullElement, fullMessage, fullRecord } from './full-fields.mjs';

/** One of those that begin so: they differ in their name alone (D25). */
const INJECTION = 'injection_sql';

const SUFFIXED_EXPLOIT = 'svc.ev0.threat.vulnerability_exploit.lfi';

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
};

const indented = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** The smallest of its kind, and one with all that it may have. */
const pair = (folder, kind, { smallest, full }) => [
  { file: `${folder}/${kind}.json`, text: indented(smallest) },
  { file: `${folder}/${kind}.full.json`, text: indented(full) },
];

/** As on the wire, byte for byte: no space and no line end. */
const body = (folder, elements) => ({
  file: `${folder}/every-type.json`,
  text: JSON.stringify(elements),
});

/** Ids like those of a sender: in the order in which they were made. */
function counter() {
  let count = 0;
  return () => {
    count += 1;
    return `01a1fd8c-6900-7000-8000-${String(count).padStart(12, '0')}`;
  };
}

/**
 * What stands in samples/: the same at each build.
 *
 * @param contract the entry `./contract`, for the vocabularies and the order of keys
 * @param kit the entry `./testing`, for the factories
 * @param createLogWriter of the main entry, which writes the lines
 * @param platforms the log platforms whose attributes it knows
 */
export function sampleFiles({ contract, kit, createLogWriter, platforms }) {
  const { EVENT_NAMES, MESSAGE_TYPES, INCIDENT_MESSAGE_TYPES, SVC_PAYLOAD_TYPES } = contract;
  const eventNames = [...EVENT_NAMES, SUFFIXED_EXPLOIT];
  const messageTypes = [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES, INJECTION];

  // The schemas put keys in their order.
  const record = (name, more) => contract.LogRecord.parse(kit.sampleRecord(name, more));
  const message = (type, more, options) =>
    contract.WebhookMessageV2.parse(kit.sampleMessage(type, more, options));
  const element = (type, more, options) =>
    contract.WebhookMessageV1.parse(kit.sampleMessageV1(type, more, options));

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
      messageTypes.map((type) => message(type, {}, { newId })),
    ),
    ...SVC_PAYLOAD_TYPES.flatMap((type) =>
      pair('webhook-message-v1', type, {
        smallest: element(type),
        full: element(type, fullElement(type)),
      }),
    ),
    body(
      'webhook-body-v1',
      SVC_PAYLOAD_TYPES.map((type) => element(type, {}, { newId: newV1Id })),
    ),
  ];
}
