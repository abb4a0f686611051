/**
 * Chooses a server for each application, if one server is not enough. Make a sender with a queue for each
 * server, and send each message with the sender of its application's server.
 */
import { createHash } from 'node:crypto';

/**
 * Returns the server with the highest hash for this application (rendezvous hashing). A server that is
 * added takes some applications from each of the others, and moves none between those.
 */
export function serverOf(applicationId: string, servers: readonly string[]): string {
  const hashOf = (server: string): string =>
    createHash('sha256').update(`${server}\n${applicationId}`).digest('hex');
  return servers.reduce((best, server) => (hashOf(server) > hashOf(best) ? server : best));
}
