/** Loaded when a queue is opened, so that nobody needs the package who has none of these. */
export const loadPg = async () => (await import('pg')).default;

export type LoadPg = typeof loadPg;
