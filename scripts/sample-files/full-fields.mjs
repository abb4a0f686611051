/** The optional fields of the samples. Together the samples contain every field of the contract. */

const OCCURRED_AT = '2026-11-21T10:00:00.000+00:00';
const UPDATED_AT = '2026-11-21T10:05:00.000+00:00';

const CONTEXT = {
  actor: {
    identifiers: { email: 'ada@example.com', id: 42 },
    ip: {
      address: '203.0.113.9',
      geo: { city: 'Lyon', country_code: 'FRA', latitude: 45.76, longitude: 4.84 },
      metadata: {
        datacenter: { name: 'Example Hosting', url: 'https://hosting.example' },
        global: true,
        loopback: false,
        multicast: false,
        network_type: 'public',
        private: false,
        proxy: false,
        reserved: false,
        tor: false,
        unspecified: false,
        version: 4,
        vpn: false,
      },
    },
    svc_identifier: 'YWRhQGV4YW1wbGUuY29t',
  },
  http: {
    request: {
      host: 'shop.example',
      parameters: {
        form: { name: 'Ada' },
        json: { items: [{ id: 7, count: 1 }] },
        other: { id: '7' },
        query: { q: "1' OR '1'='1" },
      },
      path: '/search',
      port: 443,
      referer: null,
      remote_ip: '203.0.113.9',
      remote_port: '41234',
      scheme: 'https',
      user_agent: 'curl/8.5.0',
      verb: 'POST',
    },
    response: { blocked: true, status: 403 },
  },
};

const PAYLOADS = {
  'svc.ev0.incident': { event_type: 'update', severity: 'critical' },
  'svc.ev0.custom_event': { sdk_event_name: 'checkout' },
};

/** Returns the optional fields of an event. */
export const fullRecord = (eventName) => ({
  context: CONTEXT,
  payload: PAYLOADS[eventName] ?? {},
});

const GEO = { city: 'Lyon', code: 'FRA', point: [4.84, 45.76] };

const IPS = [{ address: '203.0.113.9', date_resolved: OCCURRED_AT, geo: GEO, is_tor: false }];

const INCIDENT = {
  incident_status: 'updated',
  date_last_updated: UPDATED_AT,
  new_related_ips: [
    {
      address: '2001:db8::9',
      date_resolved: OCCURRED_AT,
      geo: GEO,
      is_tor: false,
      vpn: true,
      proxy: false,
      datacenter: true,
      metadata: {
        version: 6,
        multicast: false,
        private: false,
        global: true,
        unspecified: false,
        reserved: false,
        loopback: false,
      },
      tags: ['scanner'],
    },
  ],
};

const RESPONSE = {
  properties: {
    ips: [{ ip_cidr: '203.0.113.9/32' }, { ip_cidr: '2001:db8::/32' }],
    user_identifiers: [{ email: 'ada@example.com' }],
  },
};

const CONTENTS = {
  security_event: { ips: IPS, risk_coefficient: 60 },
  security_response: RESPONSE,
  test: { ips: IPS, risk_coefficient: 60 },
  account_takeover: {
    ...INCIDENT,
    new_compromised_accounts: [
      {
        svc_id: 'shop-1',
        user_identifiers: { email: 'ada@example.com' },
        ip_address: '203.0.113.9',
      },
    ],
  },
};

/** Returns the optional fields of a message of format 2, as in a second send. */
export const fullMessage = (messageType) => ({
  date_created: UPDATED_AT,
  retry_count: 1,
  message: CONTENTS[messageType] ?? INCIDENT,
});

/** Optional fields of events that only format 1 has (D42). */
const EVENT_EXTRAS = {
  risk: 60,
  application_account_account_id: 'account-1',
  application_account_account_keys: [{ name: 'email', value: 'ada@example.com' }],
  application_account_url: 'https://dashboard.example/accounts/account-1',
};

const ELEMENTS = {
  security_event: {
    ips: IPS,
    ...EVENT_EXTRAS,
    id: 'event-1',
    url: 'https://dashboard.example/events/event-1',
  },
  pulse: {
    pulse_category: 'scan',
    date_ended: UPDATED_AT,
    humanized_accounts: 'ada@example.com',
    humanized_geos: 'France',
    blocked: true,
    accounts_count: 1,
  },
  security_response: RESPONSE,
  test: { ips: IPS, ...EVENT_EXTRAS },
};

/** Returns the optional fields of a `svc_payload_type` of format 1. */
export const fullElement = (payloadType) => ELEMENTS[payloadType];
