/** Where the events of each application go, and which: in life this stands in a file or a database. */
import type { OrganisedApplication, SettingsFunction } from 'security-event-delivery';

export interface Destination {
  readonly applicationId: string;
  readonly url: string;
  readonly secret: string;
}

/**
 * The two belong to two organisations, each with a format of its own. That is why this is a function:
 * settings that are an object are those of one organisation, with one format.
 */
const APPLICATIONS: Readonly<Record<string, OrganisedApplication>> = {
  // Everything is sent, in format 2, where nothing else is said.
  'shop-1': { name: 'shop', environment: 'example' },
  'warehouse-1': {
    name: 'warehouse',
    environment: 'example',
    format: 1,
    modules: { 'sql-injection': true, 'path-traversal': false },
    playbooks: { 'Notify On Repeated Attacks v1.0': false },
  },
};

export function createSettings(destinations: readonly Destination[]): SettingsFunction {
  return (id) => {
    const application = APPLICATIONS[id];
    const destination = destinations.find(({ applicationId }) => applicationId === id);
    if (application === undefined || destination === undefined) return undefined;
    return { ...application, url: destination.url, secret: destination.secret };
  };
}
