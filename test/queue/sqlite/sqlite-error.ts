/** An error as SQLite throws it. */
export const sqliteError = (errcode: number): Error =>
  Object.assign(new Error('a message of SQLite'), { errcode });
