import { createRequire } from 'node:module';

/** Loads the package at that path. The worker itself is a text, which no package lies beside. */
export const loadPeer = (path: string): unknown => createRequire(path)(path);
