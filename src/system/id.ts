import { v7 } from 'uuid';

/** A new UUID v7: unique, and sortable by the time it was made. */
export const newId = (): string => v7();
