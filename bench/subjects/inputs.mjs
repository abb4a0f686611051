/** The records and messages of both sides. */

/** A webhook secret in the form of `generateSecret`. */
export const SECRET = '5f0c2a9e7d3b4816'.repeat(4);

/** Settings of an application. */
export const applicationAt = (url) => ({
  name: 'shop',
  environment: 'production',
  url,
  secret: SECRET,
});

/** A blocked attack with a known user: 994 bytes as one line of JSON without its line feed. */
export const attackRecord = () => ({
  context: {
    actor: {
      identifiers: { id: 'user-48213', email: 'jane.doe@example.com' },
      ip: {
        address: '203.0.113.9',
        geo: { city: 'Lyon', country_code: 'FRA', latitude: 45.76, longitude: 4.832 },
        metadata: {
          datacenter: null,
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
      svc_identifier: 'dXNlci00ODIxMw==',
    },
    http: {
      request: {
        host: 'shop.example.com',
        parameters: { query: { q: "1' OR '1'='1" } },
        path: '/catalog/search',
        port: 443,
        referer: null,
        remote_ip: '203.0.113.9',
        remote_port: '41234',
        scheme: 'https',
        user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0',
        verb: 'GET',
      },
      response: { blocked: true, status: 403 },
    },
    service: { env: 'production', name: 'shop', svc_id: 'svc-7' },
  },
  detected_at: '2026-11-21T10:00:00.123+00:00',
  event_name: 'svc.ev0.threat.attack',
  event_version: '1.0.0',
  payload: { ruleset: 'sql_injection' },
});

const EVENT_ID_DIGITS = 12;

/**
 * Creates a security event as callers pass it, without its envelope. It has 743 bytes as an element of a
 * request.
 */
export const securityEvent = (index) => {
  const eventId = String(index).padStart(EVENT_ID_DIGITS, '0');
  return {
    message_type: 'security_event',
    message: {
      application_id: 'app-1',
      application_name: 'shop',
      environment: 'production',
      date_occurred: '2026-11-21T10:00:00.123+00:00',
      event_category: 'injection',
      event_id: eventId,
      event_kind: 'sql_injection',
      event_url: `https://dashboard.example.com/applications/app-1/events/${eventId}`,
      humanized_description:
        'SQL injection from 203.0.113.9 (Lyon, FRA) in parameter q of GET /catalog/search: blocked',
      ips: [
        {
          address: '203.0.113.9',
          date_resolved: '2026-11-21T09:59:58.000+00:00',
          geo: { city: 'Lyon', code: 'FRA', point: [4.832, 45.7578] },
          is_tor: false,
        },
      ],
    },
  };
};

export const securityEvents = (count) => Array.from({ length: count }, (_, i) => securityEvent(i));

/** Wraps an event in its envelope, with keys in the contract's order, for the bare loops. */
export const envelope = (draft, messageId, dateCreated) => ({
  message_id: messageId,
  api_version: '2',
  date_created: dateCreated,
  message_type: draft.message_type,
  retry_count: 0,
  message: draft.message,
});
