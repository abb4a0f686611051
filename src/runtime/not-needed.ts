/**
 * The reason of aborting a wait that is over. Said, since a default reason is an error with its stack:
 * two took an eighth of an attempt's CPU.
 */
export const NOT_NEEDED = 'not needed any more';
