/** Names the nested schemas of the webhook's messages: generators otherwise invent names such as `AnonymousSchema_12`. */
const isObject = (value) => typeof value === 'object' && value !== null;

/** Where each schema is found first: the properties below a message; items of arrays have the array's name. */
const PLACES = {
  SecurityEventContent: ['SecurityEventMessage', 'message'],
  SecurityResponseContent: ['SecurityResponseMessage', 'message'],
  TestContent: ['TestMessage', 'message'],
  IncidentContent: ['HttpScanMessage', 'message'],
  AccountTakeoverContent: ['AccountTakeoverMessage', 'message'],
  ResolvedIp: ['TestMessage', 'message', 'ips'],
  RelatedIp: ['HttpScanMessage', 'message', 'new_related_ips'],
  Geo: ['TestMessage', 'message', 'ips', 'geo'],
  IpMetadata: ['HttpScanMessage', 'message', 'new_related_ips', 'metadata'],
  IncidentStatus: ['HttpScanMessage', 'message', 'incident_status'],
  CompromisedAccount: ['AccountTakeoverMessage', 'message', 'new_compromised_accounts'],
  Application: ['SecurityResponseMessage', 'message', 'application'],
  ResponseProperties: ['SecurityResponseMessage', 'message', 'properties'],
  IpRange: ['SecurityResponseMessage', 'message', 'properties', 'ips'],
  Playbook: ['SecurityResponseMessage', 'message', 'playbook'],
  AccountKey: ['TestV1', 'application_account_account_keys'],
  PulseGenre: ['PulseV1', 'pulse_genre'],
};

function schemaAt(schemas, [message, ...keys]) {
  return keys.reduce((schema, key) => {
    const found = schema.properties[key];
    return found.items ?? found;
  }, schemas[message]);
}

export const refTo = (name) => ({ $ref: `#/components/schemas/${name}` });

const needsName = ({ properties, enum: words }) => properties !== undefined || words !== undefined;

const mapValues = (object, map) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));

/** Returns the schema with references to the named schemas in it. */
function withReferences(schema, names) {
  const replaced = (value) => {
    if (Array.isArray(value)) return value.map(replaced);
    if (!isObject(value)) return value;
    const name = names.get(JSON.stringify(value));
    if (name !== undefined) return refTo(name);
    if (needsName(value)) throw new Error(`a schema has no name: ${JSON.stringify(value)}`);
    return withReferences(value, names);
  };
  return mapValues(schema, (value, key) =>
    key === 'properties' ? mapValues(value, replaced) : replaced(value),
  );
}

/** Returns the schemas of messages, and those nested in them, each with a name. */
export function withNestedNames(messages) {
  const nested = mapValues(PLACES, (place) => schemaAt(messages, place));
  const names = new Map(Object.entries(nested).map(([name, each]) => [JSON.stringify(each), name]));
  return mapValues({ ...messages, ...nested }, (schema) => withReferences(schema, names));
}
