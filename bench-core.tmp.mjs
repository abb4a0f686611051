// src/queue/sqlite/worker/failure.ts
var Rejection = class extends Error {
  code;
  path;
  constructor(code, detail, { path = [], cause } = {}) {
    super(detail, cause === void 0 ? void 0 : { cause });
    this.code = code;
    this.path = path;
  }
};
var BUSY = 5;
var LOCKED = 6;
var READONLY = 8;
var IOERR = 10;
var CORRUPT = 11;
var FULL = 13;
var CANTOPEN = 14;
var PROTOCOL = 15;
var NOTADB = 26;
var WRITE_FAILED = [778, 4874];
var errcodeOf = (error) => {
  const code = error instanceof Error && "errcode" in error ? error.errcode : void 0;
  return typeof code === "number" ? code : void 0;
};
var primaryOf = (error) => (errcodeOf(error) ?? 0) & 255;
var isBusy = (error) => [BUSY, LOCKED, PROTOCOL].includes(primaryOf(error));
var isDiskFull = (error) => primaryOf(error) === FULL || WRITE_FAILED.includes(errcodeOf(error) ?? 0);
var isNoDatabase = (error) => primaryOf(error) === NOTADB;
var isBroken = (error) => [IOERR, CANTOPEN, READONLY].includes(primaryOf(error)) && !isDiskFull(error);
function detailOf(error, file2) {
  if (isDiskFull(error)) return "the disk is full";
  switch (primaryOf(error)) {
    case CORRUPT:
    case NOTADB:
      return `the file is damaged: stop its processes and run \`sqlite3 ${file2} .recover\``;
    case READONLY:
      return "the file or its disk is read-only";
    case CANTOPEN:
      return "the file cannot be opened";
    case IOERR:
      return "the disk reported an error";
    default:
      return "SQLite reported an error";
  }
}
function failureAnswer(error, file2) {
  const isOurs = error instanceof Rejection;
  const source = isOurs ? error.cause : error;
  const errcode = errcodeOf(source);
  const cause = source instanceof Error ? { cause: { message: source.message, ...errcode === void 0 ? {} : { errcode } } } : {};
  if (isOurs) return { code: error.code, detail: error.message, path: error.path, ...cause };
  return { code: "ERR_QUEUE_FAILED", detail: detailOf(error, file2), ...cause };
}

// src/queue/sqlite/protocol.ts
var GATE_BUSY = 0;
var GATE_STOP = 1;
var toWhole = (value) => Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);

// src/queue/sqlite/worker/gate.ts
var Stopped = class extends Error {
};
var Gate = class {
  #words;
  constructor(buffer) {
    this.#words = new Int32Array(buffer);
  }
  /** @throws Stopped when the gate is closed */
  run(work) {
    Atomics.store(this.#words, GATE_BUSY, 1);
    try {
      if (Atomics.load(this.#words, GATE_STOP) === 1) throw new Stopped();
      return work();
    } finally {
      Atomics.store(this.#words, GATE_BUSY, 0);
      Atomics.notify(this.#words, GATE_BUSY);
    }
  }
  /** Blocks the worker's thread for `ms`, or until the gate is closed. */
  sleep(ms) {
    Atomics.wait(this.#words, GATE_STOP, 0, ms);
  }
};

// src/queue/sqlite/worker/checksum.ts
import { crc32 } from "node:zlib";
function bodyChecksum(facts, body2) {
  const { application, messageId, format, dateAt, countAt, sizeBytes } = facts;
  const text = `${application} ${format} ${dateAt} ${countAt} ${sizeBytes} ${messageId}`;
  const start = crc32(text);
  return body2.length === 0 ? start : crc32(body2, start);
}
var progressChecksum = (row) => crc32(
  `${row.sequence} ${row.due} ${row.accepted} ${row.sends} ${row.max_messages} ${row.progress}`
);

// src/queue/sqlite/worker/text.ts
var PLAIN = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;
var toText = (id) => PLAIN.test(id) ? id : JSON.stringify(id).slice(1, -1);
var fromText = (text) => PLAIN.test(text) ? text : JSON.parse(`"${text}"`);

// src/queue/sqlite/worker/waiting.ts
var SELECT_PROGRESS = "select sequence, due, accepted, sends, max_messages, progress from message where";
var WRITE_PROGRESS = `
  update message set due = ?, sends = ?, max_messages = ?, progress = ?, progress_checksum = ?
  where sequence = ?`;
function writeProgress(transaction, row) {
  const { sequence, due, sends, max_messages: maxMessages, progress } = row;
  const values = [due, sends, maxMessages, progress, progressChecksum(row), sequence];
  transaction.database.run(WRITE_PROGRESS, ...values);
}
function readProgress({ database: database2 }, sequence) {
  return database2.get(
    `select sequence, due, accepted, sends, max_messages, progress, size_bytes
     from message where sequence = ?`,
    sequence
  );
}
function place(transaction, application, nowMs) {
  endDelaysIfFull(transaction, application, nowMs);
  transaction.changed(application);
}
function endDelaysIfFull(transaction, application, nowMs) {
  const waiting = application.pending - application.claimed;
  if (application.delayed_until <= nowMs || waiting < application.max_messages) return;
  application.delayed_until = nowMs;
  const delayed = transaction.database.all(
    `${SELECT_PROGRESS} application = ? and due > ? and sends = 0`,
    application.number,
    nowMs
  );
  for (const row of delayed) writeProgress(transaction, { ...row, due: nowMs });
  refreshFirstDue(transaction, application);
}
function refreshFirstDue({ database: database2 }, application) {
  if (application.claim !== null) return;
  const first = database2.get(
    "select due from message where application = ? order by due, sequence limit 1",
    application.number
  );
  application.first_due = first === void 0 ? null : Number(first["due"]);
}
function claimedSequences({ database: database2 }, application) {
  if (application.claim === null) return [];
  const row = database2.get("select sequences from claim where number = ?", application.claim);
  return row === void 0 ? [] : JSON.parse(String(row["sequences"]));
}
function endClaim(transaction, application, atMs) {
  transaction.database.run("delete from claim where number = ?", application.claim);
  application.claim = null;
  application.lease_end = null;
  application.claimed = 0;
  application.served_at = atMs;
  application.turn = transaction.nextNumber();
  refreshFirstDue(transaction, application);
}
function rescueExpired(transaction, nowMs) {
  transaction.flushApplications();
  const expired = transaction.database.all(
    "select number from application where claim is not null and lease_end <= ?",
    nowMs
  );
  for (const { number } of expired) {
    const application = transaction.byNumber(Number(number));
    const leaseEnd = application.lease_end ?? nowMs;
    for (const sequence of claimedSequences(transaction, application)) {
      const row = readProgress(transaction, sequence);
      if (row !== void 0) writeProgress(transaction, { ...row, sends: row.sends + 1 });
    }
    endClaim(transaction, application, leaseEnd);
    endDelaysIfFull(transaction, application, leaseEnd);
    place(transaction, application, nowMs);
    transaction.announceDue();
  }
}
function findClaim(transaction, id) {
  const [, number, claim2] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
  if (number === void 0) return void 0;
  const application = transaction.byNumber(Number(number));
  return application?.claim === Number(claim2) ? application : void 0;
}

// src/queue/sqlite/worker/dead-letters.ts
var PAGE = 500;
function buryMessage(transaction, application, message) {
  const { sequence, sends, death } = message;
  const row = transaction.database.get(
    `insert into dead_letter
     select ?, application, accepted, ?, ?, ?, ?, message_id, format, date_at, count_at, size_bytes,
       body_checksum, body
     from message where sequence = ? returning message_id, size_bytes`,
    transaction.nextNumber(),
    death.diedMs,
    sends,
    death.reason,
    death.lastAttempt,
    sequence
  );
  transaction.database.run("delete from message where sequence = ?", sequence);
  const bytes = Number(row?.["size_bytes"] ?? 0);
  transaction.addPending(application, -1, -bytes);
  transaction.state.dead_bytes += bytes;
  application.dead += 1;
  transaction.changed(application);
  return { messageId: fromText(String(row?.["message_id"])) };
}
function evict(transaction, maxDeadBytes) {
  while (transaction.state.dead_bytes > maxDeadBytes) {
    const oldest = transaction.database.get(
      "select id, application, size_bytes from dead_letter order by id limit 1"
    );
    if (oldest === void 0) return;
    forget(transaction, oldest, "evicted");
  }
}
function forget(transaction, row, as) {
  const application = transaction.byNumber(row.application);
  transaction.database.run("delete from dead_letter where id = ?", row.id);
  transaction.state.dead_bytes -= row.size_bytes;
  application.dead -= 1;
  if (as !== void 0) application[as] += 1;
  transaction.changed(application);
  return application;
}
function search(transaction, columns, { filter, after, upTo, limit }) {
  const { applicationId, ids } = filter;
  const named = ids === void 0 ? null : JSON.stringify(ids.filter((id) => /^\d{1,15}$/.test(id)).map(Number));
  let number = null;
  if (applicationId !== void 0) number = transaction.find(applicationId)?.number ?? -1;
  const conditions = [
    "id > ? and id <= ?",
    ...number === null ? [] : ["application = ?"],
    ...named === null ? [] : ["id in (select value from json_each(?))"]
  ];
  return transaction.database.all(
    `select ${columns} from dead_letter where ${conditions.join(" and ")} order by id limit ?`,
    after,
    upTo,
    ...number === null ? [] : [number],
    ...named === null ? [] : [named],
    limit
  );
}
function listDeadLetters(transaction, { filter, limit, after }, { send }) {
  const given = { filter, after, limit, upTo: Number.MAX_SAFE_INTEGER };
  return search(transaction, "*", given).map((row) => {
    send(row.body);
    return [
      row.id,
      transaction.byNumber(row.application).id,
      fromText(row.message_id),
      row.format,
      row.body.length,
      row.date_at,
      row.count_at,
      row.size_bytes,
      row.sends,
      row.reason,
      row.last_attempt,
      row.accepted,
      row.died
    ];
  });
}
function purge(transaction, page) {
  return eachOfPage(transaction, page, (row) => {
    forget(transaction, row, "purged");
    return true;
  });
}
function replay(transaction, { bounds, ...page }, at) {
  const answer2 = eachOfPage(transaction, page, (row) => {
    const application = transaction.byNumber(row.application);
    if (application.tier === "closed" || !hasRoom(transaction, bounds, row.size_bytes))
      return false;
    revive(transaction, { application, row, at });
    return true;
  });
  if (answer2.count > 0) transaction.announceDue();
  return answer2;
}
var hasRoom = ({ state }, bounds, bytes) => state.pending < bounds.maxPendingMessages && state.pending_bytes + bytes <= bounds.maxPendingBytes;
function revive(transaction, {
  application,
  row,
  at
}) {
  transaction.state.last_sequence += 1;
  const sequence = transaction.state.last_sequence;
  const { nowMs } = at;
  const { sends } = row;
  const young = {
    sequence,
    due: nowMs,
    accepted: nowMs,
    sends,
    max_messages: null,
    progress: null
  };
  transaction.database.run(
    `insert into message
     select ?, application, ?, ?, sends, null, null, ?, message_id, format, date_at, count_at,
       size_bytes, body_checksum, body
     from dead_letter where id = ?`,
    sequence,
    nowMs,
    nowMs,
    progressChecksum(young),
    row.id
  );
  forget(transaction, row);
  transaction.addPending(application, 1, row.size_bytes);
  application.first_due = Math.min(application.first_due ?? nowMs, nowMs);
  place(transaction, application, nowMs);
}
function eachOfPage(transaction, page, work) {
  const upTo = page.upTo ?? transaction.state.last_number;
  const given = { filter: page.filter, after: page.after, upTo, limit: PAGE };
  const rows = search(
    transaction,
    "id, application, size_bytes, sends",
    given
  );
  const count = rows.filter(work).length;
  const last = rows.length < PAGE ? void 0 : rows.at(-1)?.id;
  return { count, upTo, ...last === void 0 ? {} : { after: last } };
}

// src/queue/sqlite/worker/applications.ts
var SELECT_PAGE = `
  select sequence, application, accepted, sends from message
  where sequence > ? order by sequence limit ?`;
var SELECT_OF_APPLICATION = `
  select sequence, application, accepted, sends from message
  where application = ? order by due, sequence limit ?`;
var WIDE_RANGE = 5e3;
var COUNT_ROWS = "select count(*) as count from message where sequence between ? and ?";
var COUNT_INDEX = `select count(*) as count from message indexed by message_due
  where +sequence between ? and ?`;
function expire(transaction, { olderThanMs, maxMessages, maxDeadBytes }, at) {
  const found = [];
  const isClaimed = claimedBy(transaction);
  const limit = toWhole(maxMessages);
  let after = 0;
  search: while (found.length < limit) {
    const page = transaction.database.all(SELECT_PAGE, after, 1e3);
    for (const row of page) {
      if (row.accepted >= at.nowMs - olderThanMs || found.length >= limit) break search;
      if (!isClaimed(row)) found.push(row);
      after = row.sequence;
    }
    if (page.length < 1e3) break;
  }
  const death = { reason: "horizon-passed", lastAttempt: "null", diedMs: at.nowMs };
  return buryAll(transaction, found, { death, maxDeadBytes });
}
function claimedBy(transaction) {
  const claims = /* @__PURE__ */ new Map();
  return ({ application: number, sequence }) => {
    const known = claims.get(number);
    const application = transaction.byNumber(number);
    const sequences = known ?? new Set(claimedSequences(transaction, application));
    if (known === void 0) claims.set(number, sequences);
    return sequences.has(sequence);
  };
}
function buryAll(transaction, rows, { death, maxDeadBytes }) {
  const changed = /* @__PURE__ */ new Set();
  const expired = rows.map(({ sequence, application: number, sends }) => {
    const application = transaction.byNumber(number);
    changed.add(application);
    const { messageId } = buryMessage(transaction, application, { sequence, sends, death });
    return { applicationId: application.id, messageId, sequence };
  });
  for (const application of changed) {
    refreshFirstDue(transaction, application);
    place(transaction, application, death.diedMs);
  }
  evict(transaction, maxDeadBytes);
  return expired;
}
function closeApplication(transaction, given, at) {
  const application = transaction.ensure(given.applicationId, given.initialState);
  application.tier = "closed";
  transaction.changed(application);
  const isClaimed = claimedBy(transaction);
  const limit = toWhole(given.maxMessages);
  const rows = transaction.database.all(SELECT_OF_APPLICATION, application.number, limit + application.claimed).filter((row) => !isClaimed(row)).slice(0, limit);
  const death = { reason: "destination-closed", lastAttempt: "null", diedMs: at.nowMs };
  return buryAll(transaction, rows, { death, maxDeadBytes: given.maxDeadBytes });
}
function reopenApplication(transaction, { applicationId, state }, at) {
  const application = transaction.find(applicationId);
  if (application === void 0) return null;
  const [tier, maxMessages, maxBytes, circuitBreaker] = state;
  application.tier = tier;
  application.max_messages = maxMessages;
  application.max_bytes = maxBytes;
  application.circuit_breaker = circuitBreaker;
  application.not_before = 0;
  place(transaction, application, at.nowMs);
  transaction.announceDue();
  return null;
}
function applicationState(transaction, id) {
  const found = transaction.find(id);
  if (found === void 0) return null;
  return [found.tier, found.max_messages, found.max_bytes, found.circuit_breaker];
}
function countPending({ database: database2 }, ranges) {
  let sum = 0;
  for (const { from, to } of ranges) {
    const sql = to - from < WIDE_RANGE ? COUNT_ROWS : COUNT_INDEX;
    sum += Number(database2.get(sql, from, to)?.["count"]);
  }
  return sum;
}
function backlog(transaction, at) {
  transaction.flushApplications();
  const later = transaction.database.get(
    `select coalesce(sum((select count(*) from message m where m.application = a.number and m.due > ?)), 0)
     as count from application a where a.pending > 0`,
    at.nowMs
  );
  const { pending, last_sequence: lastSequence } = transaction.state;
  return { dueMessages: pending - Number(later?.["count"]), lastSequence };
}
function stats(transaction, at) {
  transaction.flushApplications();
  const applications = transaction.database.tuples(
    `select id, tier, accepted, delivered, pending, dead, purged, evicted, lost from application
       order by number`
  ).map(([id, ...counts]) => [fromText(id), ...counts]);
  const oldest = transaction.database.get(
    `select min(max(first_due, not_before)) as since from application
     where tier <> 'closed' and claim is null and first_due is not null`
  )?.["since"];
  const oldestDueMs = oldest === null ? 0 : Math.max(0, at.nowMs - Number(oldest));
  return { pendingBytes: transaction.state.pending_bytes, oldestDueMs, applications };
}

// src/queue/sqlite/worker/claim.ts
var COLUMNS = `sequence, due, accepted, sends, max_messages, progress, progress_checksum,
  message_id, format, date_at, count_at, size_bytes, body_checksum, body`;
var SELECT_DUE = `
  select ${COLUMNS} from message
  where application = ?1 and due <= ?2 and (due, sequence) > (?3, ?4)
  order by due, sequence limit ?5`;
var FIRST_READY = `
  select number, ready_at, turn from application
  where tier = ? and ready_at is not null order by ready_at, turn limit 1`;
var FIRST_PAGE = 16;
var PAGE_BYTES = 4e6;
function claim(transaction, request, { at, send }) {
  for (; ; ) {
    const candidate = nextApplication(transaction, request.tiers);
    if (candidate === void 0) return {};
    if (candidate.readyAt > at.nowMs) return { dueInMs: candidate.readyAt - at.nowMs };
    const application = transaction.byNumber(candidate.number);
    const taken = takeMessages(transaction, application, { request, nowMs: at.nowMs });
    if (taken !== void 0) {
      for (const message of taken.messages) send(message[13]);
      return lease(transaction, { application, taken, request, at });
    }
    refreshFirstDue(transaction, application);
    place(transaction, application, at.nowMs);
  }
}
function nextApplication(transaction, tiers) {
  transaction.flushApplications();
  let first;
  for (const tier of tiers) {
    const row = transaction.database.get(FIRST_READY, tier);
    if (row === void 0) continue;
    const [number, readyAt, turn] = [row["number"], row["ready_at"], row["turn"]].map(Number);
    const isBefore = first === void 0 || readyAt < first.readyAt || readyAt === first.readyAt && turn < first.turn;
    if (isBefore) first = { number, readyAt, turn };
  }
  return first;
}
function takeMessages(transaction, application, { request, nowMs }) {
  let limit = Math.min(application.max_messages, toWhole(request.maxMessages));
  const maxBytes = Math.min(application.max_bytes, toWhole(request.maxBytes));
  const messages = [];
  let format;
  let bytes = 0;
  for (const message of dueMessages(transaction, application, { limit, nowMs })) {
    if (!isIntact(application, message)) {
      setAside(transaction, application, { message, nowMs });
      continue;
    }
    limit = Math.min(limit, message[4] ?? limit);
    const isWithin = messages.length < limit && bytes + message[11] <= maxBytes && message[8] === format;
    if (messages.length > 0 && !isWithin) break;
    messages.push(message);
    format = message[8];
    bytes += message[11];
  }
  return format === void 0 ? void 0 : { format, messages, bytes };
}
function* dueMessages({ database: database2 }, { number }, limits) {
  let after = [Number.MIN_SAFE_INTEGER, 0];
  let left = Math.max(1, limits.limit);
  let page = FIRST_PAGE;
  while (left > 0) {
    page = Math.min(left, page);
    const values = [number, limits.nowMs, ...after, page];
    const found = database2.tuples(SELECT_DUE, ...values);
    yield* found;
    const last = found.at(-1);
    if (last === void 0 || found.length < page) return;
    after = [last[1], last[0]];
    left -= found.length;
    const bytes = found.reduce((sum, message) => sum + message[13].length, 1);
    page = Math.max(1, Math.floor(PAGE_BYTES * found.length / bytes));
  }
}
function isIntact(application, message) {
  const [sequence, due, accepted, sends, maxMessages, progress] = message;
  const row = { sequence, due, accepted, sends, max_messages: maxMessages, progress };
  if (progressChecksum(row) !== message[6]) return false;
  const [, , , , , , , messageId, format, dateAt, countAt, sizeBytes, checksum, body2] = message;
  const facts = {
    application: application.number,
    messageId: fromText(messageId),
    format,
    dateAt,
    countAt,
    sizeBytes
  };
  return bodyChecksum(facts, body2) === checksum;
}
function setAside(transaction, application, { message, nowMs }) {
  const [sequence] = message;
  transaction.database.run(
    `insert into damaged_message
     select sequence, application, ?, sends, message_id, body from message where sequence = ?`,
    nowMs,
    sequence
  );
  transaction.database.run("delete from message where sequence = ?", sequence);
  const left = transaction.database.get(
    "select count(*) as messages, coalesce(sum(size_bytes), 0) as bytes from message where application = ?",
    application.number
  );
  const bytes = Number(left?.["bytes"]) - application.pending_bytes;
  transaction.addPending(application, -1, bytes);
  transaction.addLost(application, 1);
}
function lease(transaction, {
  application,
  taken,
  request,
  at
}) {
  const number = transaction.nextNumber();
  const sequences = JSON.stringify(taken.messages.map(([sequence]) => sequence));
  transaction.database.run(
    "insert into claim (number, application, size_bytes, sequences) values (?, ?, ?, ?)",
    number,
    application.number,
    taken.bytes,
    sequences
  );
  application.claim = number;
  application.lease_end = at.after(request.leaseMs);
  application.claimed = taken.messages.length;
  transaction.changed(application);
  return {
    id: `${application.number}-${number}`,
    applicationId: application.id,
    format: taken.format,
    state: [
      application.tier,
      application.max_messages,
      application.max_bytes,
      application.circuit_breaker
    ],
    nowMs: at.nowMs,
    messages: taken.messages.map((message) => claimedTuple(message, at.nowMs))
  };
}
function claimedTuple(message, nowMs) {
  const [sequence, , accepted, sends, , progress, , messageId, , dateAt, countAt] = message;
  const length = message[13].length;
  return [
    sequence,
    fromText(messageId),
    length,
    dateAt,
    countAt,
    sends,
    nowMs - accepted,
    progress
  ];
}

// src/queue/sqlite/worker/enqueue.ts
var INSERT = `
  insert into message (sequence, application, due, accepted, sends, progress_checksum, message_id,
    format, date_at, count_at, size_bytes, body_checksum, body)
  values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`;
function enqueue(transaction, { entries, delayMs, settings: settings2 }, { at, bodies }) {
  const { isClosed, closed } = closedOf(transaction, entries);
  refuseOverflow(transaction, { entries: entries.filter((entry) => !isClosed(entry)), settings: settings2 });
  const due = at.after(delayMs);
  const changed = /* @__PURE__ */ new Set();
  const sequences = [];
  let end = 0;
  for (const entry of entries) {
    const body2 = bodies.subarray(end, end + entry[3]);
    end += entry[3];
    if (isClosed(entry)) continue;
    const application = transaction.ensure(entry[0], settings2.initialState);
    sequences.push(insert(transaction, entry, { application, due, accepted: at.nowMs, body: body2 }));
    application.first_due = Math.min(application.first_due ?? due, due);
    application.delayed_until = Math.max(application.delayed_until, due);
    changed.add(application);
  }
  for (const application of changed) place(transaction, application, at.nowMs);
  if (changed.size > 0) transaction.announceDue();
  return { sequences, closed };
}
function closedOf(transaction, entries) {
  const ids = new Set(entries.map(([id]) => id));
  const closed = new Set([...ids].filter((id) => transaction.find(id)?.tier === "closed"));
  const isClosed = ([id]) => closed.size > 0 && closed.has(id);
  return { isClosed, closed: [...closed] };
}
function refuseOverflow({ state }, { entries, settings: { bounds } }) {
  const bytes = entries.reduce((sum, entry) => sum + entry[6], 0);
  let bound;
  if (state.pending + entries.length > bounds.maxPendingMessages) bound = "maxPendingMessages";
  else if (state.pending_bytes + bytes > bounds.maxPendingBytes) bound = "maxPendingBytes";
  if (bound === void 0 || entries.length === 0) return;
  const detail = `${entries.length} messages of ${bytes} bytes would pass ${bound} (${bounds[bound]})`;
  throw new Rejection("ERR_QUEUE_FULL", detail, { path: [bound] });
}
function insert(transaction, entry, place2) {
  const [, messageId, format, , dateAt, countAt, sizeBytes] = entry;
  const { application, due, accepted, body: body2 } = place2;
  transaction.state.last_sequence += 1;
  const sequence = transaction.state.last_sequence;
  const { number } = application;
  const facts = { application: number, messageId, format, dateAt, countAt, sizeBytes };
  const progress = { sequence, due, accepted, sends: 0, max_messages: null, progress: null };
  transaction.database.run(
    INSERT,
    sequence,
    number,
    due,
    accepted,
    progressChecksum(progress),
    toText(messageId),
    format,
    dateAt,
    countAt,
    sizeBytes,
    bodyChecksum(facts, body2),
    body2
  );
  transaction.addPending(application, 1, sizeBytes);
  application.accepted += 1;
  return sequence;
}

// src/queue/sqlite/worker/incidents.ts
import { createHash } from "node:crypto";
var FORGOTTEN_INCIDENTS = 10;
var FORGOTTEN_NAMES = 1e3;
var digest = (parts) => createHash("sha256").update(JSON.stringify(parts)).digest();
var keyOf = ({ applicationId, incidentId }) => digest([applicationId, incidentId]);
var COLUMN = { log: "on_log", webhook: "on_webhook" };
function find({ database: database2 }, report) {
  return database2.get("select * from incident where key = ?", keyOf(report));
}
function tellIncident(transaction, { report, limits }, at) {
  const oldest = at.nowMs - limits.keptMs;
  let known = find(transaction, report);
  if (known !== void 0 && known.seen_at < oldest) {
    forget2(transaction, known.number);
    known = void 0;
  }
  const row = known ?? create(transaction, report, at.nowMs);
  const column = COLUMN[report.channel];
  transaction.database.run(
    `update incident set seen_at = ?, ${column} = 1 where number = ?`,
    at.nowMs,
    row.number
  );
  const addNew = (kind, names) => names.filter((name) => addName(transaction, row.number, [report.channel, kind, name]));
  const news = {
    isFirst: row[column] === 0,
    startedAt: row.started_at,
    newAddresses: addNew("ip", report.addresses),
    newAccounts: addNew("account", report.accounts)
  };
  forgetOthers(transaction, row.number, { limits, oldest });
  return news;
}
function create(transaction, report, nowMs) {
  transaction.state.incidents += 1;
  return transaction.database.get(
    "insert into incident (key, started_at, seen_at) values (?, ?, ?) returning *",
    keyOf(report),
    report.at,
    nowMs
  );
}
function addName(transaction, number, parts) {
  const added = transaction.database.run(
    "insert or ignore into incident_name (incident, digest) values (?, ?)",
    number,
    digest(parts)
  );
  transaction.state.incident_names += added;
  return added > 0;
}
function retractIncident(transaction, { report, news }) {
  const known = find(transaction, report);
  if (known === void 0) return null;
  const { channel } = report;
  const removeNames = (kind, names) => {
    for (const name of names) {
      const values = [known.number, digest([channel, kind, name])];
      transaction.state.incident_names -= transaction.database.run(
        "delete from incident_name where incident = ? and digest = ?",
        ...values
      );
    }
  };
  if (news.isFirst) {
    const sql = `update incident set ${COLUMN[channel]} = 0 where number = ?`;
    transaction.database.run(sql, known.number);
  }
  removeNames("ip", news.newAddresses);
  removeNames("account", news.newAccounts);
  return null;
}
function forgetOthers(transaction, current, { limits, oldest }) {
  const { database: database2, state } = transaction;
  for (let count = 0; count < FORGOTTEN_INCIDENTS; count += 1) {
    const first = database2.get(
      `select number, seen_at from incident where number <> ?
       order by seen_at, number limit 1`,
      current
    );
    if (first === void 0) {
      forgetNames(transaction, Math.min(state.incident_names - limits.maxNames, FORGOTTEN_NAMES));
      return;
    }
    const isTooMany = state.incidents > limits.maxIncidents || state.incident_names > limits.maxNames;
    if (!isTooMany && Number(first["seen_at"]) >= oldest) return;
    forget2(transaction, Number(first["number"]));
  }
}
function forget2(transaction, number) {
  const { database: database2, state } = transaction;
  state.incident_names -= database2.run("delete from incident_name where incident = ?", number);
  state.incidents -= database2.run("delete from incident where number = ?", number);
}
function forgetNames({ database: database2, state }, count) {
  if (count <= 0) return;
  state.incident_names -= database2.run(
    `delete from incident_name where (incident, digest) in
       (select incident, digest from incident_name limit ?)`,
    count
  );
}

// src/queue/sqlite/worker/settle.ts
function settle(transaction, settlement, at) {
  const application = findClaim(transaction, settlement.id);
  if (application === void 0) return false;
  const sequences = claimedSequences(transaction, application);
  if (sequences.length !== settlement.count) {
    const detail = `${settlement.count} results for ${sequences.length} messages`;
    throw new Rejection("ERR_QUEUE_FAILED", detail);
  }
  if (settlement.results === null) deliverAll(transaction, application, sequences);
  else {
    for (const [index, result] of settlement.results.entries()) {
      record(transaction, { application, sequence: sequences[index] ?? 0, result, at });
    }
    evict(transaction, settlement.maxDeadBytes);
  }
  finish(transaction, application, { update: settlement.update, at });
  return true;
}
function release(transaction, { id, update }, at) {
  const application = findClaim(transaction, id);
  if (application === void 0) return false;
  finish(transaction, application, { update, at });
  return true;
}
function closeHandle(transaction, claims, at) {
  for (const id of claims) release(transaction, { id, update: null }, at);
  return transaction.state.pending;
}
function extend(transaction, { id, leaseMs }, at) {
  const application = findClaim(transaction, id);
  if (application === void 0) return false;
  application.lease_end = at.after(leaseMs);
  transaction.changed(application);
  return true;
}
function finish(transaction, application, { update, at }) {
  endClaim(transaction, application, at.nowMs);
  if (update !== null) {
    const [tier, maxMessages, maxBytes, circuitBreaker] = update.state;
    if (application.tier !== "closed") application.tier = tier;
    application.max_messages = maxMessages;
    application.max_bytes = maxBytes;
    application.circuit_breaker = circuitBreaker;
    application.not_before = at.after(update.pauseMs);
  }
  place(transaction, application, at.nowMs);
  transaction.announceDue();
}
function deliverAll(transaction, application, sequences) {
  const { database: database2 } = transaction;
  const claim2 = database2.get("select size_bytes from claim where number = ?", application.claim);
  let deleted = 0;
  for (const { from, to } of rangesOf(sequences)) {
    deleted += database2.run("delete from message where sequence between ? and ?", from, to);
  }
  transaction.addPending(application, -deleted, -Number(claim2?.["size_bytes"] ?? 0));
  application.delivered += deleted;
}
function rangesOf(sequences) {
  const ranges = [];
  for (const sequence of sequences.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== void 0 && last.to === sequence - 1) last.to = sequence;
    else ranges.push({ from: sequence, to: sequence });
  }
  return ranges;
}
function record(transaction, { application, sequence, result, at }) {
  const row = readProgress(transaction, sequence);
  if (row === void 0) return;
  const [kind] = result;
  if (kind === "retry") {
    const [, afterMs, maxMessages, progress] = result;
    const due = afterMs > 0 ? at.after(afterMs) : row.due;
    const sends = row.sends + 1;
    writeProgress(transaction, { ...row, due, sends, max_messages: maxMessages, progress });
    return;
  }
  if (kind === "dead") {
    const [, reason, lastAttempt] = result;
    const sends = row.sends + 1;
    const death = { reason, lastAttempt, diedMs: at.nowMs };
    buryMessage(transaction, application, { sequence, sends, death });
    return;
  }
  transaction.database.run("delete from message where sequence = ?", sequence);
  transaction.addPending(application, -1, -row.size_bytes);
  application.delivered += 1;
}

// src/queue/sqlite/worker/operations.ts
var WITHOUT_LEASES = ["tellIncident", "retractIncident"];
function runOperation(transaction, [, operation, argument], context) {
  if (!WITHOUT_LEASES.includes(operation)) rescueExpired(transaction, context.at.nowMs);
  const run = OPERATIONS[operation];
  return run(transaction, argument, context);
}
var OPERATIONS = {
  open: (transaction, _, { at }) => backlog(transaction, at),
  enqueue,
  claim,
  settle: (transaction, argument, { at }) => settle(transaction, argument, at),
  release: (transaction, argument, { at }) => release(transaction, argument, at),
  extend: (transaction, argument, { at }) => extend(transaction, argument, at),
  expire: (transaction, argument, { at }) => expire(transaction, argument, at),
  countPending,
  applicationState,
  closeApplication: (transaction, argument, { at }) => closeApplication(transaction, argument, at),
  reopenApplication: (transaction, argument, { at }) => reopenApplication(transaction, argument, at),
  listDeadLetters,
  replay: (transaction, argument, { at }) => replay(transaction, argument, at),
  purge,
  stats: (transaction, _, { at }) => stats(transaction, at),
  closeHandle: (transaction, argument, { at }) => closeHandle(transaction, argument, at),
  tellIncident: (transaction, argument, { at }) => tellIncident(transaction, argument, at),
  retractIncident
};

// src/queue/sqlite/worker/transaction.ts
var STATE_COLUMNS = [
  "last_sequence",
  "last_number",
  "pending",
  "pending_bytes",
  "dead_bytes",
  "due_changes",
  "incidents",
  "incident_names"
];
var COLUMNS2 = [
  "tier",
  "max_messages",
  "max_bytes",
  "circuit_breaker",
  "not_before",
  "served_at",
  "turn",
  "claim",
  "lease_end",
  "claimed",
  "first_due",
  "delayed_until",
  "ready_at",
  "pending",
  "pending_bytes",
  "accepted",
  "delivered",
  "dead",
  "purged",
  "evicted",
  "lost"
];
var assignments = (names) => names.map((name) => `${name} = ?`).join(", ");
var WRITE_STATE = `update queue_state set ${assignments(STATE_COLUMNS)} where id = 1`;
var WRITE_APPLICATION = `update application set ${assignments(COLUMNS2)} where number = ?`;
var INSERT_APPLICATION = `
  insert into application (id, tier, max_messages, max_bytes, circuit_breaker, turn)
  values (?, ?, ?, ?, ?, ?) returning number`;
var Transaction = class {
  database;
  state;
  /** Messages whose row was damaged, by application. */
  lost = /* @__PURE__ */ new Map();
  #isDue = false;
  #numbers = /* @__PURE__ */ new Map();
  #applications = /* @__PURE__ */ new Map();
  #changed = /* @__PURE__ */ new Set();
  #before;
  constructor(database2) {
    this.database = database2;
    this.state = database2.get("select * from queue_state");
    this.#before = JSON.stringify(this.state);
  }
  get lostMessages() {
    return [...this.lost].map(([applicationId, lost]) => ({ applicationId, lost }));
  }
  get isDue() {
    return this.#isDue;
  }
  nextNumber() {
    this.state.last_number += 1;
    return this.state.last_number;
  }
  /** Tells all processes that a message may be due earlier than a claim said. */
  announceDue() {
    if (!this.#isDue) this.state.due_changes += 1;
    this.#isDue = true;
  }
  find(applicationId) {
    const number = this.#numbers.get(applicationId);
    if (number !== void 0) return this.#applications.get(number);
    const id = toText(applicationId);
    return this.#keep(this.database.get("select * from application where id = ?", id));
  }
  byNumber(number) {
    const known = this.#applications.get(number);
    if (known !== void 0) return known;
    return this.#keep(this.database.get("select * from application where number = ?", number));
  }
  #keep(row) {
    if (row === void 0) return void 0;
    const application = { ...row, id: fromText(String(row["id"])) };
    this.#applications.set(application.number, application);
    this.#numbers.set(application.id, application.number);
    return application;
  }
  /** Finds the application, or makes it with its initial state. */
  ensure(applicationId, state) {
    const known = this.find(applicationId);
    if (known !== void 0) return known;
    this.database.get(INSERT_APPLICATION, toText(applicationId), ...state, this.nextNumber());
    return this.find(applicationId);
  }
  /** Sets the time at which the application can be claimed. To be called after each change to it. */
  changed(application) {
    const { tier, lease_end: leaseEnd, first_due: firstDue } = application;
    if (tier === "closed") application.ready_at = null;
    else if (application.claim !== null) application.ready_at = leaseEnd;
    else if (firstDue === null) application.ready_at = null;
    else {
      const { not_before: notBefore, served_at: servedAt } = application;
      application.ready_at = Math.max(firstDue, notBefore, servedAt);
    }
    this.#changed.add(application);
  }
  /** Adds to the counts of what waits, of the application and of the queue. */
  addPending(application, messages, bytes) {
    application.pending += messages;
    application.pending_bytes += bytes;
    this.state.pending += messages;
    this.state.pending_bytes += bytes;
  }
  /** Counts messages whose row was damaged. */
  addLost(application, messages) {
    application.lost += messages;
    this.lost.set(application.id, (this.lost.get(application.id) ?? 0) + messages);
  }
  /** Writes the applications, before they are searched by something else than their id. */
  flushApplications() {
    for (const application of this.#changed) {
      const values = COLUMNS2.map((name) => application[name]);
      this.database.run(WRITE_APPLICATION, ...values, application.number);
    }
    this.#changed.clear();
  }
  flush() {
    this.flushApplications();
    if (JSON.stringify(this.state) === this.#before) return;
    this.database.run(WRITE_STATE, ...STATE_COLUMNS.map((name) => this.state[name]));
  }
};
var Moment = class {
  nowMs;
  #exactMs;
  constructor(exactMs) {
    this.#exactMs = exactMs;
    this.nowMs = Math.floor(exactMs);
  }
  /** The time in `ms`, rounded up: nothing happens earlier than asked. */
  after(ms) {
    return ms > 0 ? Math.ceil(Math.min(this.#exactMs + ms, Number.MAX_SAFE_INTEGER)) : this.nowMs;
  }
};

// src/queue/sqlite/worker/group.ts
var noAnswers = () => ({
  answers: [],
  bodies: [],
  bytes: 0,
  due: false,
  dueChanges: void 0,
  lost: [],
  isBroken: false
});
function runGroup(storage2, calls, into) {
  try {
    const done = storage2.database.transaction(() => attempt(storage2, calls, into.bytes));
    into.answers.push(...done.answers);
    into.bodies.push(...done.bodies);
    into.lost.push(...done.lost);
    into.bytes = done.bytes;
    into.due ||= done.due;
    into.dueChanges = done.dueChanges;
  } catch (error) {
    recover(storage2, { calls, into, error });
  }
}
function recover(storage2, { calls, into, error }) {
  if (error instanceof Stopped) throw error;
  const isLockWait = error instanceof Rejection;
  if (calls.length > 1 && !isLockWait) {
    for (const call2 of calls) runGroup(storage2, [call2], into);
    return;
  }
  const [first] = calls;
  if (first !== void 0 && isDiskFull(error) && makeRoom(storage2, first)) {
    runGroup(storage2, calls, into);
    return;
  }
  into.isBroken ||= isBroken(error);
  const failure = failureAnswer(error, storage2.file);
  into.answers.push(...calls.map(({ call: call2 }) => [call2[0], null, 0, failure]));
}
function makeRoom({ database: database2, reserve }, { call: call2 }) {
  if (call2[1] === "enqueue" || !reserve.isHeld) return false;
  reserve.release();
  try {
    database2.patiently(() => database2.all("pragma wal_checkpoint(restart)"), 100);
  } catch (error) {
    if (error instanceof Stopped) throw error;
  }
  return true;
}
function attempt(storage2, calls, bytesBefore) {
  const transaction = new Transaction(storage2.database);
  const done = { ...noAnswers(), bytes: bytesBefore };
  const hasSpace = calls.every(({ call: call2 }) => call2[1] !== "enqueue") || storage2.reserve.ensure();
  for (const waiting of calls)
    done.answers.push(answer(storage2, { transaction, waiting, done, hasSpace }));
  transaction.flush();
  done.due = transaction.isDue;
  done.dueChanges = transaction.state.due_changes;
  done.lost.push(...transaction.lostMessages);
  return done;
}
function answer(storage2, {
  transaction,
  waiting: { call: call2, bodies },
  done,
  hasSpace
}) {
  const [id, operation, , nowMs, bodiesAt] = call2;
  const start = done.bytes;
  const context = {
    at: new Moment(nowMs ?? Date.now()),
    bodies: bodies.subarray(bodiesAt),
    send: (body2) => {
      done.bodies.push(body2);
      done.bytes += body2.length;
    }
  };
  try {
    if (operation === "enqueue" && !hasSpace) {
      throw new Rejection("ERR_QUEUE_FAILED", "the disk is full");
    }
    return [id, runOperation(transaction, call2, context), start, null];
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return [id, null, 0, failureAnswer(error, storage2.file)];
  }
}

// src/queue/sqlite/worker/open.ts
import { chmodSync, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

// src/queue/sqlite/worker/database.ts
var LOCK_WAIT_MS = 1e4;
var BUSY2 = /* @__PURE__ */ Symbol("busy");
var Database = class {
  /** Kept here: the engine closes a connection that nobody refers to, even while it has statements. */
  #connection;
  #gate;
  #statements = /* @__PURE__ */ new Map();
  constructor(connection, gate2) {
    this.#connection = connection;
    this.#gate = gate2;
  }
  run(sql, ...values) {
    return Number(this.#prepared(sql).run(...values).changes);
  }
  get(sql, ...values) {
    return this.#prepared(sql).get(...values);
  }
  all(sql, ...values) {
    return this.#prepared(sql).all(...values);
  }
  /** Rows as arrays, which cost less than objects. */
  tuples(sql, ...values) {
    const statement = this.#prepared(sql);
    statement.setReturnArrays(true);
    return statement.all(...values);
  }
  exec(sql) {
    this.#connection.exec(sql);
  }
  /** Runs a statement that takes no lock on the file for long, inside the gate. */
  quickly(work) {
    return this.#gate.run(work);
  }
  /**
   * Runs `work` in a transaction that holds the file's write lock. Waits for the lock by short random
   * sleeps: the busy timeout of SQLite sleeps longer and longer, and starves one of several processes.
   */
  transaction(work) {
    return this.patiently(() => {
      this.exec("begin immediate");
      return this.#commit(work);
    });
  }
  #commit(work) {
    try {
      const value = work();
      this.exec("commit");
      return value;
    } catch (error) {
      try {
        this.exec("rollback");
      } catch {
      }
      throw error;
    }
  }
  /** Repeats `attempt` while another connection holds the file. */
  patiently(attempt2, waitMs = LOCK_WAIT_MS) {
    const endMs = performance.now() + waitMs;
    for (; ; ) {
      const value = this.#gate.run(() => this.#unlessBusy(attempt2));
      if (value !== BUSY2) return value;
      if (performance.now() > endMs) {
        const detail = `another process has held the file for ${waitMs / 1e3} s`;
        throw new Rejection("ERR_QUEUE_FAILED", detail);
      }
      this.#gate.sleep(0.2 + Math.random() * 1.5);
    }
  }
  #unlessBusy(attempt2) {
    try {
      return attempt2();
    } catch (error) {
      if (isBusy(error)) return BUSY2;
      throw error;
    }
  }
  close() {
    this.#statements.clear();
    this.#gate.run(() => this.#connection.close());
  }
  #prepared(sql) {
    const known = this.#statements.get(sql);
    if (known !== void 0) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
};

// src/queue/sqlite/worker/schema.ts
var APPLICATION_ID = 1397048401;
var SCHEMA_VERSION = 1;
var SCHEMA = `
create table queue_state (
  id integer primary key check (id = 1),
  last_sequence integer not null default 0,
  -- Numbers turns, claims and dead letters.
  last_number integer not null default 0,
  pending integer not null default 0,
  pending_bytes integer not null default 0,
  dead_bytes integer not null default 0,
  -- Rises when a message may be due earlier than a claim said.
  due_changes integer not null default 0,
  incidents integer not null default 0,
  incident_names integer not null default 0
) strict;

insert into queue_state (id) values (1);

create table application (
  number integer primary key,
  id text not null unique,
  tier text not null,
  max_messages integer not null,
  max_bytes integer not null,
  circuit_breaker text not null,
  not_before integer not null default 0,
  -- When its last claim ended: it goes behind those that have waited since.
  served_at integer not null default 0,
  turn integer not null default 0,
  claim integer,
  lease_end integer,
  claimed integer not null default 0,
  -- The first due time of its unclaimed messages. Not kept up while there is a claim.
  first_due integer,
  -- No message waits for others to come after this time.
  delayed_until integer not null default 0,
  -- When it can be claimed, or its lease ends; null when it is closed or empty.
  ready_at integer,
  pending integer not null default 0,
  pending_bytes integer not null default 0,
  accepted integer not null default 0,
  delivered integer not null default 0,
  dead integer not null default 0,
  purged integer not null default 0,
  evicted integer not null default 0,
  lost integer not null default 0
) strict;

create index application_ready on application (tier, ready_at, turn) where ready_at is not null;
create index application_lease on application (lease_end) where claim is not null;

create table message (
  sequence integer primary key,
  application integer not null,
  due integer not null,
  accepted integer not null,
  sends integer not null,
  max_messages integer,
  progress text,
  progress_checksum integer not null,
  message_id text not null,
  format integer not null,
  date_at integer not null,
  count_at integer not null,
  size_bytes integer not null,
  body_checksum integer not null,
  body blob not null
) strict;

create index message_due on message (application, due, sequence);

-- The messages of a live claim. Each was sent once more than its row says.
create table claim (
  number integer primary key,
  application integer not null,
  size_bytes integer not null,
  sequences text not null
) strict;

create table dead_letter (
  id integer primary key,
  application integer not null,
  accepted integer not null,
  died integer not null,
  sends integer not null,
  reason text not null,
  last_attempt text not null,
  message_id text not null,
  format integer not null,
  date_at integer not null,
  count_at integer not null,
  size_bytes integer not null,
  body_checksum integer not null,
  body blob not null
) strict;

create index dead_letter_application on dead_letter (application, id);

-- Rows whose checksum was wrong, for a human to look at. Nothing reads them.
create table damaged_message (
  sequence integer,
  application integer,
  found_at integer,
  sends integer,
  message_id text,
  body blob
);

-- Keys and names are digests: they may be of any length.
create table incident (
  number integer primary key,
  key blob not null unique,
  started_at real not null,
  seen_at integer not null,
  on_log integer not null default 0,
  on_webhook integer not null default 0
) strict;

create index incident_seen_at on incident (seen_at, number);

create table incident_name (
  incident integer not null,
  digest blob not null,
  primary key (incident, digest)
) strict, without rowid;
`;

// src/queue/sqlite/worker/open.ts
var MIB = 1024 * 1024;
var SETTINGS = `
pragma journal_size_limit = ${16 * MIB};
pragma temp_store = memory;
pragma cache_size = -16000;
pragma cell_size_check = on;
pragma trusted_schema = off;
`;
var NETWORK_FILE_SYSTEMS = /* @__PURE__ */ new Map([
  [26985, "NFS"],
  [20859, "SMB"],
  [4266872130, "SMB"],
  [4283649346, "CIFS"]
]);
function openDatabase({ engine, gate: gate2, file: file2 }) {
  refuseNetwork(file2);
  const isNew = !existsSync(file2);
  if (!isNew && statSync(file2).size > 0) probe({ engine, gate: gate2, file: file2 });
  const connection = gate2.run(() => connect(engine, file2, false));
  const database2 = new Database(connection, gate2);
  try {
    if (isNew) restrict(database2, file2);
    database2.patiently(() => useWal(database2));
    gate2.run(() => database2.exec(SETTINGS));
    database2.transaction(() => migrate(database2));
    return database2;
  } catch (error) {
    database2.close();
    throw error;
  }
}
var connect = (engine, file2, readOnly) => new engine.DatabaseSync(file2, { readOnly, timeout: 0, enableForeignKeyConstraints: false });
function refuseNetwork(file2) {
  const name = NETWORK_FILE_SYSTEMS.get(statfsSync(dirname(file2)).type);
  if (name === void 0) return;
  const detail = `the file is on a network file system (${name}): use a local disk`;
  throw new Rejection("ERR_QUEUE_FAILED", detail);
}
function probe({ engine, gate: gate2, file: file2 }) {
  const database2 = new Database(
    gate2.run(() => connect(engine, file2, true)),
    gate2
  );
  try {
    database2.patiently(() => refuseForeign(database2));
  } catch (error) {
    if (!isNoDatabase(error)) throw error;
    const detail = `${file2} is no SQLite database; if it was a queue, its beginning is damaged`;
    throw new Rejection("ERR_QUEUE_FOREIGN", detail, { cause: error });
  } finally {
    database2.close();
  }
}
var pragma = (database2, name) => Number(Object.values(database2.get(`pragma ${name}`) ?? {})[0]);
function refuseForeign(database2) {
  const application = pragma(database2, "application_id");
  const version = pragma(database2, "user_version");
  if (application === APPLICATION_ID) {
    if (version <= SCHEMA_VERSION) return;
    const detail = `a newer version of this package made the file (schema ${version})`;
    throw new Rejection("ERR_QUEUE_FAILED", detail);
  }
  const objects = Number(database2.get("select count(*) as count from sqlite_schema")?.["count"]);
  if (application === 0 && version === 0 && objects === 0) return;
  throw new Rejection("ERR_QUEUE_FOREIGN", "the file is a database of another program");
}
function restrict(database2, file2) {
  database2.patiently(() => pragma(database2, "schema_version"));
  if (existsSync(file2)) chmodSync(file2, 384);
}
function useWal(database2) {
  const mode = database2.get("pragma journal_mode = wal")?.["journal_mode"];
  if (mode === "wal") return;
  const detail = "the file system does not support the write-ahead log of SQLite: use a local disk";
  throw new Rejection("ERR_QUEUE_FAILED", detail);
}
function migrate(database2) {
  if (pragma(database2, "user_version") === SCHEMA_VERSION) return;
  database2.exec(SCHEMA);
  database2.exec(
    `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`
  );
}

// src/queue/sqlite/worker/engine.ts
import { createRequire } from "node:module";
import process2 from "node:process";
var MINIMUM = [3, 51, 3];
var PEER = "@photostructure/sqlite";
function loadEngine(peerPath2) {
  const builtin = quietly(() => process2.getBuiltinModule("node:sqlite"));
  if (builtin !== void 0 && isRecent(builtin)) return builtin;
  const install = `${PEER} (\`npm install ${PEER}@1\`): Node ${process2.versions.node} has no SQLite ${MINIMUM.join(".")}`;
  if (peerPath2 === null) throw new Rejection("ERR_PEER_MISSING", install);
  try {
    const peer = createRequire(peerPath2)(peerPath2);
    if (isRecent(peer)) return peer;
  } catch (cause) {
    throw new Rejection("ERR_PEER_MISSING", install, { cause });
  }
  throw new Rejection(
    "ERR_PEER_MISSING",
    `${install}, nor has the version of it that is installed`
  );
}
function isRecent({ DatabaseSync }) {
  const connection = new DatabaseSync(":memory:", {});
  try {
    const version = String(
      connection.prepare("select sqlite_version() as version").get()?.["version"]
    );
    const parts = version.split(".").map(Number);
    const index = MINIMUM.findIndex((least, place2) => parts[place2] !== least);
    return index === -1 || (parts[index] ?? 0) > (MINIMUM[index] ?? 0);
  } finally {
    connection.close();
  }
}
function quietly(load) {
  const { emitWarning } = process2;
  process2.emitWarning = (...given) => {
    if (!given.includes("ExperimentalWarning")) Reflect.apply(emitWarning, process2, given);
  };
  try {
    return load();
  } finally {
    process2.emitWarning = emitWarning;
  }
}

// src/queue/sqlite/worker/reserve.ts
import { existsSync as existsSync2, rmSync, statSync as statSync2, truncateSync, writeFileSync } from "node:fs";
var RESERVE_BYTES = 8 * 1024 * 1024;
var Reserve = class {
  #path;
  constructor(file2) {
    this.#path = `${file2}-reserve`;
  }
  /** Whether it takes up space. */
  get isHeld() {
    return (statSync2(this.#path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }
  get isThere() {
    return existsSync2(this.#path);
  }
  /** Takes up the space. Returns false when the disk has none. */
  ensure() {
    const size = statSync2(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= RESERVE_BYTES) return true;
    try {
      writeFileSync(this.#path, Buffer.alloc(RESERVE_BYTES, "reserved "), { mode: 384 });
      return true;
    } catch {
      this.release();
      return false;
    }
  }
  /** Gives the space back to the disk. */
  release() {
    try {
      truncateSync(this.#path);
    } catch {
    }
  }
  remove() {
    rmSync(this.#path, { force: true });
  }
};

// src/queue/sqlite/peer-path.ts
import { createRequire as createRequire2 } from "node:module";
import { join } from "node:path";
import process3 from "node:process";
var PEER2 = "@photostructure/sqlite";
function peerPath() {
  const places = [import.meta.url, process3.argv[1], join(process3.cwd(), "_")];
  for (const place2 of places) {
    if (place2 === void 0) continue;
    try {
      return createRequire2(place2).resolve(PEER2);
    } catch {
    }
  }
  return null;
}

// ../bench-core.ts
import { mkdtempSync, rmSync as rmSync2 } from "node:fs";
var folder = mkdtempSync("/tmp/sqbench-");
var file = folder + "/q.db";
var gate = new Gate(new SharedArrayBuffer(8));
var database = openDatabase({ engine: loadEngine(peerPath()), gate, file });
database.exec("pragma synchronous=" + (process.argv[2] ?? "full"));
var storage = { file, database, reserve: new Reserve(file) };
var body = Buffer.alloc(700, "abc");
var settings = { initialState: ["healthy", 1e3, 1e7, "null"], bounds: { maxPendingBytes: 1e10, maxPendingMessages: 1e8 } };
var n = 0;
var call = () => ({ call: [++n, "enqueue", { entries: [["app", "0192aaaa-bbbb-7ccc-8ddd-" + n, 2, 700, 10, 50, 701]], delayMs: 0, settings }, null, 0], bodies: body });
for (const size of [1, 64, 1e3]) {
  const total = size === 1 ? 5e3 : 6e4;
  const t = performance.now();
  const c = process.cpuUsage();
  for (let i = 0; i < total; i += size) runGroup(storage, Array.from({ length: size }, call), noAnswers());
  const u = process.cpuUsage(c);
  console.log(size, Math.round(total / (performance.now() - t) * 1e3), "/s user", (u.user / total).toFixed(1), "sys", (u.system / total).toFixed(1));
}
rmSync2(folder, { recursive: true });
