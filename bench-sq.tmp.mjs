// src/errors.ts
var ERROR_TABLE = {
  ERR_INVALID_RECORD: {
    kind: "caller",
    what: "The log record does not follow the contract",
    hint: "Mend the field that `path` names; `input` holds the record."
  },
  ERR_INVALID_LINE: {
    kind: "caller",
    what: "The text is not one log line",
    hint: "Pass exactly one line of JSON that holds a log record."
  },
  ERR_INVALID_MESSAGE: {
    kind: "caller",
    what: "A webhook message does not follow the contract",
    hint: "Mend the field that `path` names; `input` holds the messages, none of which was sent."
  },
  ERR_INVALID_BODY: {
    kind: "caller",
    what: "The body of a webhook request is not usable",
    hint: "Give the body as it was received: a JSON array of messages; `input` holds it."
  },
  ERR_RAW_BODY_GONE: {
    kind: "caller",
    what: "The raw body of the request is gone: something parsed it before the webhook receiver",
    hint: "Put the receiver before body parsers, or keep the bytes: `express.json({ limit: '2mb', verify: (request, _response, bytes) => { request.rawBody = bytes; } })`; without the limit, bodies of more than 100 KB are refused."
  },
  ERR_MESSAGE_TOO_LARGE: {
    kind: "caller",
    what: "A webhook message is larger than a request or the queue allows",
    hint: "Shorten the message or raise `maxBodyBytes`; `input` holds the messages, none of which was sent."
  },
  ERR_INVALID_OPTION: {
    kind: "caller",
    what: "An option is not usable",
    hint: "Set the option that `path` names as its documentation says."
  },
  ERR_INVALID_URL: {
    kind: "caller",
    what: "The webhook URL is not usable",
    hint: "Give an absolute http or https URL without credentials."
  },
  ERR_INVALID_SECRET: {
    kind: "caller",
    what: "The webhook secret is not usable",
    hint: "Give the secret as a non-empty string; `generateSecret()` makes one."
  },
  ERR_INVALID_SVC_IDENTIFIER: {
    kind: "caller",
    what: "The svc_identifier is not padded base64 of UTF-8 text",
    hint: "Pass what `encodeSvcIdentifier` made."
  },
  ERR_DESTINATION_NOT_SYNCHRONOUS: {
    kind: "caller",
    what: "The log destination writes later, so a record could be lost when the process ends",
    hint: "Give a file path, a file descriptor or a synchronous stream, or accept the loss with `sync: false`."
  },
  ERR_WRITE_FAILED: {
    kind: "environment",
    what: "The log record could not be written",
    hint: "See `cause`; `input` holds the record. The writer stays usable and tries again at the next write."
  },
  ERR_WRITER_CLOSED: {
    kind: "lifecycle",
    what: "The log writer is closed",
    hint: "Write before `close`, or make a new writer; `input` holds the record."
  },
  ERR_SETTINGS_FAILED: {
    kind: "environment",
    what: "The settings could not be read",
    hint: "See `cause`: what you gave as settings threw or rejected, or its file is missing or broken."
  },
  ERR_CONFIGURATION_FAILED: {
    kind: "environment",
    what: "The configuration could not be read or written",
    hint: "See `cause` and try again; what was saved before is as it was."
  },
  ERR_PEER_MISSING: {
    kind: "environment",
    what: "An optional package could not be loaded",
    hint: "Install the package that the message names beside this one; `cause` says what went wrong."
  },
  ERR_ADDRESS_REFUSED: {
    kind: "environment",
    what: "The network guard refused the address of the webhook URL",
    hint: "Use a public address; the message says whether a `network` option would allow this one."
  },
  ERR_UNKNOWN_APPLICATION: {
    kind: "caller",
    what: "A message is of an application without settings",
    hint: "Add the application to the settings; `input` holds the messages, none of which was accepted."
  },
  ERR_SENDER_CLOSED: {
    kind: "lifecycle",
    what: "The sender is closed",
    hint: "Send before `close`, or make a new sender; `input` holds the messages."
  },
  ERR_REPORTER_CLOSED: {
    kind: "lifecycle",
    what: "The reporter is closed",
    hint: "Report before `close`, or make a new reporter; `onRejected` has the event."
  },
  ERR_BEFORE_SEND_FAILED: {
    kind: "caller",
    what: "The `beforeSend` of the reporter threw",
    hint: "See `cause`; the event was told on no channel, and `onRejected` has it."
  },
  ERR_QUEUE_FULL: {
    kind: "environment",
    what: "The queue has no room for the messages",
    hint: "None of them was accepted: try again later, or raise the bound that `path` names."
  },
  ERR_QUEUE_CLOSED: {
    kind: "lifecycle",
    what: "The queue is closed",
    hint: "Use a queue between its `open` and its `close`; nothing of the call was done."
  },
  ERR_QUEUE_FOREIGN: {
    kind: "caller",
    what: "The folder of the queue holds the LevelDB store of another program",
    hint: "Nothing in it was changed: name another folder."
  },
  ERR_QUEUE_LOCKED: {
    kind: "environment",
    what: "Another process has the folder of the queue open",
    hint: "Give each process a folder of its own, or use a queue that processes share (PostgreSQL)."
  },
  ERR_QUEUE_FAILED: {
    kind: "environment",
    what: "The queue could not do what was asked of it",
    hint: "See `cause` and try again later; after a lost answer it may have been done all the same."
  },
  ERR_TIMED_OUT: {
    kind: "environment",
    what: "What a test waited for did not happen in time",
    hint: "See what the code under test did instead, or wait longer."
  }
};
var SHOWN_KEY = /^[\w.-]{1,64}$/;
var MAX_SHOWN_KEYS = 12;
function pathText(path) {
  const keys = path.map(String).map((key) => SHOWN_KEY.test(key) ? key : "\u2026");
  const shown = keys.slice(0, MAX_SHOWN_KEYS).join(".");
  return keys.length > MAX_SHOWN_KEYS ? `${shown}.\u2026` : shown;
}
function describe(issue) {
  if (issue === void 0 || issue.path.length === 0) return issue?.message;
  return `${pathText(issue.path)}: ${issue.message}`;
}
var SecurityEventError = class extends Error {
  name = "SecurityEventError";
  code;
  kind;
  /** What to do about it. */
  hint;
  /** The field or option at fault, from the root of the input; empty where there is none. */
  path;
  /** All faults, where an input was checked against the contract; `path` is the first one's. */
  issues;
  #detail;
  #input;
  constructor(code, details = {}) {
    const row = ERROR_TABLE[code];
    const text = details.detail ?? describe(details.issues?.[0]);
    const detail = text === void 0 ? "" : `: ${text}`;
    super(
      `${row.what}${detail}. ${row.hint}`,
      "cause" in details ? { cause: details.cause } : void 0
    );
    this.code = code;
    this.kind = row.kind;
    this.hint = row.hint;
    this.issues = details.issues ?? [];
    this.path = details.path ?? this.issues[0]?.path ?? [];
    this.#detail = details.detail;
    this.#input = details.input;
  }
  /** What the caller passed in. Not enumerable: loggers that print the error do not print it. */
  get input() {
    return this.#input;
  }
  /**
   * The same error, handing back `input`: for callers of a check that saw only a part of it.
   * @internal
   */
  about(input) {
    this.#input = input;
    return this;
  }
  /**
   * The same error for another caller, to hand back an input of its own, in which `path` is the place.
   * @internal
   */
  copy(path = this.path) {
    return errorOf(this.code, {
      issues: this.issues,
      path,
      ...this.#detail === void 0 ? {} : { detail: this.#detail },
      ..."cause" in this ? { cause: this.cause } : {}
    });
  }
};
var errorOf = (code, details) => new SecurityEventError(code, details);

// src/queue/sqlite/shared-file.ts
import { lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join as join2, resolve } from "node:path";
import process3 from "node:process";

// src/queue/sqlite/damage.ts
import { channel } from "node:diagnostics_channel";

// src/system/is-promise-like.ts
var isPromiseLike = (value) => (typeof value === "object" && value !== null || typeof value === "function") && typeof Reflect.get(value, "then") === "function";

// src/system/calm.ts
function calm(answer) {
  if (isPromiseLike(answer)) Promise.resolve(answer).then(void 0, nothing);
}
var nothing = () => {
};

// src/queue/sqlite/damage.ts
var DAMAGED_CHANNEL = "security-event-delivery:queue-damaged";
var publishDamage = (damage) => channel(DAMAGED_CHANNEL).publish(damage);
function reportDamage(damage, onDamage) {
  try {
    calm(onDamage?.(damage));
  } catch {
  }
}

// src/queue/sqlite/file-worker.ts
import { Worker } from "node:worker_threads";

// src/system/untraced.ts
import { AsyncLocalStorage as AsyncLocalStorage2 } from "node:async_hooks";
import { channel as channel2, hasSubscribers } from "node:diagnostics_channel";

// src/system/ambient.ts
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";

// src/once.ts
function once(make) {
  let made;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

// src/system/ambient.ts
var ambient = new AsyncLocalStorage();
var runWithin = (surroundings, work) => ambient.run(surroundings, work);
var ID_NAMES = ["async_id_symbol", "trigger_async_id_symbol"];
function detached(work) {
  const keys = idKeys();
  const outside = idsOnly(new AsyncResource("security-event-delivery"), keys);
  return outside === void 0 ? work() : outside.runInAsyncScope(work);
}
var idKeys = once(
  () => Object.getOwnPropertySymbols(new AsyncResource("security-event-delivery")).filter(
    ({ description }) => ID_NAMES.includes(description)
  )
);
function idsOnly(resource, keys) {
  const bare = Object.create(AsyncResource.prototype);
  for (const key of keys) {
    const id = Reflect.get(resource, key);
    if (typeof id !== "number") return void 0;
    Reflect.set(bare, key, id);
  }
  return keys.length === ID_NAMES.length ? bare : void 0;
}

// src/system/tracers.ts
var OTEL_API = /* @__PURE__ */ Symbol.for("opentelemetry.js.api.1");
function guarded(look) {
  try {
    return look();
  } catch {
    return void 0;
  }
}
var otelContexts = () => ownGlobal(OTEL_API)?.context;
var datadogTracer = () => ownGlobal("_ddtrace");
var ownGlobal = (key) => key in globalThis && Object.hasOwn(globalThis, key) ? Reflect.get(globalThis, key) : void 0;

// src/system/untraced.ts
var OWN_WORK = Object.freeze({});
function untraced(work) {
  return detached(
    () => runWithin(OWN_WORK, () => through(suppressOtel, () => through(suppressDatadog, work)))
  );
}
function through(wrap, work) {
  let end;
  const once2 = () => {
    end ??= endOf(work);
    return end;
  };
  guarded(() => wrap(once2));
  return once2()();
}
function endOf(work) {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
var OTEL_SUPPRESSED = /* @__PURE__ */ Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING");
function suppressOtel(work) {
  const contexts = otelContexts();
  contexts?.with(contexts.active().setValue(OTEL_SUPPRESSED, true), work);
}
var DATADOG_CHANNELS = [
  "tracing:apm:undici:fetch:start",
  "apm:net:tcp:start",
  "apm:dns:lookup:start",
  "apm:http:client:request:start"
];
function suppressDatadog(work) {
  if (datadogTracer() === void 0) return;
  const name = DATADOG_CHANNELS.find((one) => hasSubscribers(one));
  if (name === void 0) return;
  const { _stores: stores } = channel2(name);
  for (const store of stores?.keys() ?? []) {
    if (store instanceof AsyncLocalStorage2) {
      store.run({ noop: true }, work);
      return;
    }
  }
}

// src/queue/sqlite/peer-path.ts
import { createRequire } from "node:module";
import { join } from "node:path";
import process2 from "node:process";
var PEER = "@photostructure/sqlite";
function peerPath() {
  const places = [import.meta.url, process2.argv[1], join(process2.cwd(), "_")];
  for (const place of places) {
    if (place === void 0) continue;
    try {
      return createRequire(place).resolve(PEER);
    } catch {
    }
  }
  return null;
}

// src/queue/sqlite/protocol.ts
var PROTOCOL_VERSION = 1;
var GATE_BUSY = 0;
var GATE_STOP = 1;
var stateTuple = (state) => [
  state.tier,
  toWhole(state.maxMessages),
  toWhole(state.maxBytes),
  JSON.stringify(state.circuitBreaker)
];
var toWhole = (value) => Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);

// src/queue/sqlite/worker-source.generated.ts
var WORKER_SOURCE = `"use strict";
var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));

// src/queue/sqlite/worker/main.ts
var import_node_fs3 = require("node:fs");
var import_node_worker_threads = require("node:worker_threads");

// src/queue/sqlite/worker/engine.ts
var import_node_module = require("node:module");
var import_node_process = __toESM(require("node:process"), 1);

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
function detailOf(error, file) {
  if (isDiskFull(error)) return "the disk is full";
  switch (primaryOf(error)) {
    case CORRUPT:
    case NOTADB:
      return \`the file is damaged: stop its processes and run \\\`sqlite3 \${file} .recover\\\`\`;
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
function failureAnswer(error, file) {
  const isOurs = error instanceof Rejection;
  const source = isOurs ? error.cause : error;
  const errcode = errcodeOf(source);
  const cause = source instanceof Error ? { cause: { message: source.message, ...errcode === void 0 ? {} : { errcode } } } : {};
  if (isOurs) return { code: error.code, detail: error.message, path: error.path, ...cause };
  return { code: "ERR_QUEUE_FAILED", detail: detailOf(error, file), ...cause };
}

// src/queue/sqlite/worker/engine.ts
var MINIMUM = [3, 51, 3];
var PEER = "@photostructure/sqlite";
function loadEngine(peerPath) {
  const builtin = quietly(() => import_node_process.default.getBuiltinModule("node:sqlite"));
  if (builtin !== void 0 && isRecent(builtin)) return builtin;
  const install = \`\${PEER} (\\\`npm install \${PEER}@1\\\`): Node \${import_node_process.default.versions.node} has no SQLite \${MINIMUM.join(".")}\`;
  if (peerPath === null) throw new Rejection("ERR_PEER_MISSING", install);
  try {
    const peer = (0, import_node_module.createRequire)(peerPath)(peerPath);
    if (isRecent(peer)) return peer;
  } catch (cause) {
    throw new Rejection("ERR_PEER_MISSING", install, { cause });
  }
  throw new Rejection(
    "ERR_PEER_MISSING",
    \`\${install}, nor has the version of it that is installed\`
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
  const { emitWarning } = import_node_process.default;
  import_node_process.default.emitWarning = (...given) => {
    if (!given.includes("ExperimentalWarning")) Reflect.apply(emitWarning, import_node_process.default, given);
  };
  try {
    return load();
  } finally {
    import_node_process.default.emitWarning = emitWarning;
  }
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
  /** Blocks the worker's thread for \`ms\`, or until the gate is closed. */
  sleep(ms) {
    Atomics.wait(this.#words, GATE_STOP, 0, ms);
  }
};

// src/queue/sqlite/worker/checksum.ts
var import_node_zlib = require("node:zlib");
function bodyChecksum(facts, body) {
  const { application, messageId, format, dateAt, countAt, sizeBytes } = facts;
  const text = \`\${application} \${format} \${dateAt} \${countAt} \${sizeBytes} \${messageId}\`;
  const start = (0, import_node_zlib.crc32)(text);
  return body.length === 0 ? start : (0, import_node_zlib.crc32)(body, start);
}
var progressChecksum = (row) => (0, import_node_zlib.crc32)(
  \`\${row.sequence} \${row.due} \${row.accepted} \${row.sends} \${row.max_messages} \${row.progress}\`
);

// src/queue/sqlite/worker/text.ts
var PLAIN = /^[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*$/;
var toText = (id) => PLAIN.test(id) ? id : JSON.stringify(id).slice(1, -1);
var fromText = (text) => PLAIN.test(text) ? text : JSON.parse(\`"\${text}"\`);

// src/queue/sqlite/worker/waiting.ts
var SELECT_PROGRESS = "select sequence, due, accepted, sends, max_messages, progress from message where";
var WRITE_PROGRESS = \`
  update message set due = ?, sends = ?, max_messages = ?, progress = ?, progress_checksum = ?
  where sequence = ?\`;
function writeProgress(transaction, row) {
  const { sequence, due, sends, max_messages: maxMessages, progress } = row;
  const values = [due, sends, maxMessages, progress, progressChecksum(row), sequence];
  transaction.database.run(WRITE_PROGRESS, ...values);
}
function readProgress({ database }, sequence) {
  return database.get(
    \`select sequence, due, accepted, sends, max_messages, progress, size_bytes
     from message where sequence = ?\`,
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
    \`\${SELECT_PROGRESS} application = ? and due > ? and sends = 0\`,
    application.number,
    nowMs
  );
  for (const row of delayed) writeProgress(transaction, { ...row, due: nowMs });
  refreshFirstDue(transaction, application);
}
function refreshFirstDue({ database }, application) {
  if (application.claim !== null) return;
  const first = database.get(
    "select due from message where application = ? order by due, sequence limit 1",
    application.number
  );
  application.first_due = first === void 0 ? null : Number(first["due"]);
}
function claimedSequences({ database }, application) {
  if (application.claim === null) return [];
  const row = database.get("select sequences from claim where number = ?", application.claim);
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
  const [, number, claim2] = /^(\\d{1,15})-(\\d{1,15})$/.exec(id) ?? [];
  if (number === void 0) return void 0;
  const application = transaction.byNumber(Number(number));
  return application?.claim === Number(claim2) ? application : void 0;
}

// src/queue/sqlite/worker/dead-letters.ts
var PAGE = 500;
function buryMessage(transaction, application, message) {
  const { sequence, sends, death } = message;
  const row = transaction.database.get(
    \`insert into dead_letter
     select ?, application, accepted, ?, ?, ?, ?, message_id, format, date_at, count_at, size_bytes,
       body_checksum, body
     from message where sequence = ? returning message_id, size_bytes\`,
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
  const named = ids === void 0 ? null : JSON.stringify(ids.filter((id) => /^\\d{1,15}$/.test(id)).map(Number));
  let number = null;
  if (applicationId !== void 0) number = transaction.find(applicationId)?.number ?? -1;
  const conditions = [
    "id > ? and id <= ?",
    ...number === null ? [] : ["application = ?"],
    ...named === null ? [] : ["id in (select value from json_each(?))"]
  ];
  return transaction.database.all(
    \`select \${columns} from dead_letter where \${conditions.join(" and ")} order by id limit ?\`,
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
    \`insert into message
     select ?, application, ?, ?, sends, null, null, ?, message_id, format, date_at, count_at,
       size_bytes, body_checksum, body
     from dead_letter where id = ?\`,
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
var SELECT_PAGE = \`
  select sequence, application, accepted, sends from message
  where sequence > ? order by sequence limit ?\`;
var SELECT_OF_APPLICATION = \`
  select sequence, application, accepted, sends from message
  where application = ? order by due, sequence limit ?\`;
var WIDE_RANGE = 5e3;
var COUNT_ROWS = "select count(*) as count from message where sequence between ? and ?";
var COUNT_INDEX = \`select count(*) as count from message indexed by message_due
  where +sequence between ? and ?\`;
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
function countPending({ database }, ranges) {
  let sum = 0;
  for (const { from, to } of ranges) {
    const sql = to - from < WIDE_RANGE ? COUNT_ROWS : COUNT_INDEX;
    sum += Number(database.get(sql, from, to)?.["count"]);
  }
  return sum;
}
function backlog(transaction, at) {
  transaction.flushApplications();
  const later = transaction.database.get(
    \`select coalesce(sum((select count(*) from message m where m.application = a.number and m.due > ?)), 0)
     as count from application a where a.pending > 0\`,
    at.nowMs
  );
  const { pending, last_sequence: lastSequence } = transaction.state;
  return { dueMessages: pending - Number(later?.["count"]), lastSequence };
}
function stats(transaction, at) {
  transaction.flushApplications();
  const applications = transaction.database.tuples(
    \`select id, tier, accepted, delivered, pending, dead, purged, evicted, lost from application
       order by number\`
  ).map(([id, ...counts]) => [fromText(id), ...counts]);
  const oldest = transaction.database.get(
    \`select min(max(first_due, not_before)) as since from application
     where tier <> 'closed' and claim is null and first_due is not null\`
  )?.["since"];
  const oldestDueMs = oldest === null ? 0 : Math.max(0, at.nowMs - Number(oldest));
  return { pendingBytes: transaction.state.pending_bytes, oldestDueMs, applications };
}

// src/queue/sqlite/worker/claim.ts
var COLUMNS = \`sequence, due, accepted, sends, max_messages, progress, progress_checksum,
  message_id, format, date_at, count_at, size_bytes, body_checksum, body\`;
var SELECT_DUE = \`
  select \${COLUMNS} from message
  where application = ?1 and due <= ?2 and (due, sequence) > (?3, ?4)
  order by due, sequence limit ?5\`;
var FIRST_READY = \`
  select number, ready_at, turn from application
  where tier = ? and ready_at is not null order by ready_at, turn limit 1\`;
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
function* dueMessages({ database }, { number }, limits) {
  let after = [Number.MIN_SAFE_INTEGER, 0];
  let left = Math.max(1, limits.limit);
  let page = FIRST_PAGE;
  while (left > 0) {
    page = Math.min(left, page);
    const values = [number, limits.nowMs, ...after, page];
    const found = database.tuples(SELECT_DUE, ...values);
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
  const [, , , , , , , messageId, format, dateAt, countAt, sizeBytes, checksum, body] = message;
  const facts = {
    application: application.number,
    messageId: fromText(messageId),
    format,
    dateAt,
    countAt,
    sizeBytes
  };
  return bodyChecksum(facts, body) === checksum;
}
function setAside(transaction, application, { message, nowMs }) {
  const [sequence] = message;
  transaction.database.run(
    \`insert into damaged_message
     select sequence, application, ?, sends, message_id, body from message where sequence = ?\`,
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
    id: \`\${application.number}-\${number}\`,
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
var INSERT = \`
  insert into message (sequence, application, due, accepted, sends, progress_checksum, message_id,
    format, date_at, count_at, size_bytes, body_checksum, body)
  values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)\`;
function enqueue(transaction, { entries, delayMs, settings }, { at, bodies }) {
  const { isClosed, closed } = closedOf(transaction, entries);
  refuseOverflow(transaction, { entries: entries.filter((entry) => !isClosed(entry)), settings });
  const due = at.after(delayMs);
  const changed = /* @__PURE__ */ new Set();
  const sequences = [];
  let end = 0;
  for (const entry of entries) {
    const body = bodies.subarray(end, end + entry[3]);
    end += entry[3];
    if (isClosed(entry)) continue;
    const application = transaction.ensure(entry[0], settings.initialState);
    sequences.push(insert(transaction, entry, { application, due, accepted: at.nowMs, body }));
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
  const detail = \`\${entries.length} messages of \${bytes} bytes would pass \${bound} (\${bounds[bound]})\`;
  throw new Rejection("ERR_QUEUE_FULL", detail, { path: [bound] });
}
function insert(transaction, entry, place2) {
  const [, messageId, format, , dateAt, countAt, sizeBytes] = entry;
  const { application, due, accepted, body } = place2;
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
    bodyChecksum(facts, body),
    body
  );
  transaction.addPending(application, 1, sizeBytes);
  application.accepted += 1;
  return sequence;
}

// src/queue/sqlite/worker/incidents.ts
var import_node_crypto = require("node:crypto");
var FORGOTTEN_INCIDENTS = 10;
var FORGOTTEN_NAMES = 1e3;
var digest = (parts) => (0, import_node_crypto.createHash)("sha256").update(JSON.stringify(parts)).digest();
var keyOf = ({ applicationId, incidentId }) => digest([applicationId, incidentId]);
var COLUMN = { log: "on_log", webhook: "on_webhook" };
function find({ database }, report) {
  return database.get("select * from incident where key = ?", keyOf(report));
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
    \`update incident set seen_at = ?, \${column} = 1 where number = ?\`,
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
    const sql = \`update incident set \${COLUMN[channel]} = 0 where number = ?\`;
    transaction.database.run(sql, known.number);
  }
  removeNames("ip", news.newAddresses);
  removeNames("account", news.newAccounts);
  return null;
}
function forgetOthers(transaction, current, { limits, oldest }) {
  const { database, state } = transaction;
  for (let count = 0; count < FORGOTTEN_INCIDENTS; count += 1) {
    const first = database.get(
      \`select number, seen_at from incident where number <> ?
       order by seen_at, number limit 1\`,
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
  const { database, state } = transaction;
  state.incident_names -= database.run("delete from incident_name where incident = ?", number);
  state.incidents -= database.run("delete from incident where number = ?", number);
}
function forgetNames({ database, state }, count) {
  if (count <= 0) return;
  state.incident_names -= database.run(
    \`delete from incident_name where (incident, digest) in
       (select incident, digest from incident_name limit ?)\`,
    count
  );
}

// src/queue/sqlite/worker/settle.ts
function settle(transaction, settlement, at) {
  const application = findClaim(transaction, settlement.id);
  if (application === void 0) return false;
  const sequences = claimedSequences(transaction, application);
  if (sequences.length !== settlement.count) {
    const detail = \`\${settlement.count} results for \${sequences.length} messages\`;
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
  const { database } = transaction;
  const claim2 = database.get("select size_bytes from claim where number = ?", application.claim);
  let deleted = 0;
  for (const { from, to } of rangesOf(sequences)) {
    deleted += database.run("delete from message where sequence between ? and ?", from, to);
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
var assignments = (names) => names.map((name) => \`\${name} = ?\`).join(", ");
var WRITE_STATE = \`update queue_state set \${assignments(STATE_COLUMNS)} where id = 1\`;
var WRITE_APPLICATION = \`update application set \${assignments(COLUMNS2)} where number = ?\`;
var INSERT_APPLICATION = \`
  insert into application (id, tier, max_messages, max_bytes, circuit_breaker, turn)
  values (?, ?, ?, ?, ?, ?) returning number\`;
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
  constructor(database) {
    this.database = database;
    this.state = database.get("select * from queue_state");
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
  /** The time in \`ms\`, rounded up: nothing happens earlier than asked. */
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
function runGroup(storage, calls, into) {
  try {
    const done = storage.database.transaction(() => attempt(storage, calls, into.bytes));
    into.answers.push(...done.answers);
    into.bodies.push(...done.bodies);
    into.lost.push(...done.lost);
    into.bytes = done.bytes;
    into.due ||= done.due;
    into.dueChanges = done.dueChanges;
  } catch (error) {
    recover(storage, { calls, into, error });
  }
}
function recover(storage, { calls, into, error }) {
  if (error instanceof Stopped) throw error;
  const isLockWait = error instanceof Rejection;
  if (calls.length > 1 && !isLockWait) {
    for (const call of calls) runGroup(storage, [call], into);
    return;
  }
  const [first] = calls;
  if (first !== void 0 && isDiskFull(error) && makeRoom(storage, first)) {
    runGroup(storage, calls, into);
    return;
  }
  into.isBroken ||= isBroken(error);
  const failure = failureAnswer(error, storage.file);
  into.answers.push(...calls.map(({ call }) => [call[0], null, 0, failure]));
}
function makeRoom({ database, reserve }, { call }) {
  if (call[1] === "enqueue" || !reserve.isHeld) return false;
  reserve.release();
  try {
    database.patiently(() => database.all("pragma wal_checkpoint(restart)"), 100);
  } catch (error) {
    if (error instanceof Stopped) throw error;
  }
  return true;
}
function attempt(storage, calls, bytesBefore) {
  const transaction = new Transaction(storage.database);
  const done = { ...noAnswers(), bytes: bytesBefore };
  const hasSpace = calls.every(({ call }) => call[1] !== "enqueue") || storage.reserve.ensure();
  for (const waiting of calls)
    done.answers.push(answer(storage, { transaction, waiting, done, hasSpace }));
  transaction.flush();
  done.due = transaction.isDue;
  done.dueChanges = transaction.state.due_changes;
  done.lost.push(...transaction.lostMessages);
  return done;
}
function answer(storage, {
  transaction,
  waiting: { call, bodies },
  done,
  hasSpace
}) {
  const [id, operation, , nowMs, bodiesAt] = call;
  const start = done.bytes;
  const context = {
    at: new Moment(nowMs ?? Date.now()),
    bodies: bodies.subarray(bodiesAt),
    send: (body) => {
      done.bodies.push(body);
      done.bytes += body.length;
    }
  };
  try {
    if (operation === "enqueue" && !hasSpace) {
      throw new Rejection("ERR_QUEUE_FAILED", "the disk is full");
    }
    return [id, runOperation(transaction, call, context), start, null];
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return [id, null, 0, failureAnswer(error, storage.file)];
  }
}

// src/queue/sqlite/worker/open.ts
var import_node_fs = require("node:fs");
var import_node_path = require("node:path");

// src/queue/sqlite/worker/database.ts
var LOCK_WAIT_MS = 1e4;
var BUSY2 = /* @__PURE__ */ Symbol("busy");
var Database = class {
  /** Kept here: the engine closes a connection that nobody refers to, even while it has statements. */
  #connection;
  #gate;
  #statements = /* @__PURE__ */ new Map();
  constructor(connection, gate) {
    this.#connection = connection;
    this.#gate = gate;
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
   * Runs \`work\` in a transaction that holds the file's write lock. Waits for the lock by short random
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
  /** Repeats \`attempt\` while another connection holds the file. */
  patiently(attempt2, waitMs = LOCK_WAIT_MS) {
    const endMs = performance.now() + waitMs;
    for (; ; ) {
      const value = this.#gate.run(() => this.#unlessBusy(attempt2));
      if (value !== BUSY2) return value;
      if (performance.now() > endMs) {
        const detail = \`another process has held the file for \${waitMs / 1e3} s\`;
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
var SCHEMA = \`
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
\`;

// src/queue/sqlite/worker/open.ts
var MIB = 1024 * 1024;
var SETTINGS = \`
pragma journal_size_limit = \${16 * MIB};
pragma temp_store = memory;
pragma cache_size = -16000;
pragma cell_size_check = on;
pragma trusted_schema = off;
\`;
var NETWORK_FILE_SYSTEMS = /* @__PURE__ */ new Map([
  [26985, "NFS"],
  [20859, "SMB"],
  [4266872130, "SMB"],
  [4283649346, "CIFS"]
]);
function openDatabase({ engine, gate, file }) {
  refuseNetwork(file);
  const isNew = !(0, import_node_fs.existsSync)(file);
  if (!isNew && (0, import_node_fs.statSync)(file).size > 0) probe({ engine, gate, file });
  const connection = gate.run(() => connect(engine, file, false));
  const database = new Database(connection, gate);
  try {
    if (isNew) restrict(database, file);
    database.patiently(() => useWal(database));
    gate.run(() => database.exec(SETTINGS));
    database.transaction(() => migrate(database));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
var connect = (engine, file, readOnly) => new engine.DatabaseSync(file, { readOnly, timeout: 0, enableForeignKeyConstraints: false });
function refuseNetwork(file) {
  const name = NETWORK_FILE_SYSTEMS.get((0, import_node_fs.statfsSync)((0, import_node_path.dirname)(file)).type);
  if (name === void 0) return;
  const detail = \`the file is on a network file system (\${name}): use a local disk\`;
  throw new Rejection("ERR_QUEUE_FAILED", detail);
}
function probe({ engine, gate, file }) {
  const database = new Database(
    gate.run(() => connect(engine, file, true)),
    gate
  );
  try {
    database.patiently(() => refuseForeign(database));
  } catch (error) {
    if (!isNoDatabase(error)) throw error;
    const detail = \`\${file} is no SQLite database; if it was a queue, its beginning is damaged\`;
    throw new Rejection("ERR_QUEUE_FOREIGN", detail, { cause: error });
  } finally {
    database.close();
  }
}
var pragma = (database, name) => Number(Object.values(database.get(\`pragma \${name}\`) ?? {})[0]);
function refuseForeign(database) {
  const application = pragma(database, "application_id");
  const version = pragma(database, "user_version");
  if (application === APPLICATION_ID) {
    if (version <= SCHEMA_VERSION) return;
    const detail = \`a newer version of this package made the file (schema \${version})\`;
    throw new Rejection("ERR_QUEUE_FAILED", detail);
  }
  const objects = Number(database.get("select count(*) as count from sqlite_schema")?.["count"]);
  if (application === 0 && version === 0 && objects === 0) return;
  throw new Rejection("ERR_QUEUE_FOREIGN", "the file is a database of another program");
}
function restrict(database, file) {
  database.patiently(() => pragma(database, "schema_version"));
  if ((0, import_node_fs.existsSync)(file)) (0, import_node_fs.chmodSync)(file, 384);
}
function useWal(database) {
  const mode = database.get("pragma journal_mode = wal")?.["journal_mode"];
  if (mode === "wal") return;
  const detail = "the file system does not support the write-ahead log of SQLite: use a local disk";
  throw new Rejection("ERR_QUEUE_FAILED", detail);
}
function migrate(database) {
  if (pragma(database, "user_version") === SCHEMA_VERSION) return;
  database.exec(SCHEMA);
  database.exec(
    \`pragma application_id = \${APPLICATION_ID}; pragma user_version = \${SCHEMA_VERSION}\`
  );
}

// src/queue/sqlite/worker/reserve.ts
var import_node_fs2 = require("node:fs");
var RESERVE_BYTES = 8 * 1024 * 1024;
var Reserve = class {
  #path;
  constructor(file) {
    this.#path = \`\${file}-reserve\`;
  }
  /** Whether it takes up space. */
  get isHeld() {
    return ((0, import_node_fs2.statSync)(this.#path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }
  get isThere() {
    return (0, import_node_fs2.existsSync)(this.#path);
  }
  /** Takes up the space. Returns false when the disk has none. */
  ensure() {
    const size = (0, import_node_fs2.statSync)(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= RESERVE_BYTES) return true;
    try {
      (0, import_node_fs2.writeFileSync)(this.#path, Buffer.alloc(RESERVE_BYTES, "reserved "), { mode: 384 });
      return true;
    } catch {
      this.release();
      return false;
    }
  }
  /** Gives the space back to the disk. */
  release() {
    try {
      (0, import_node_fs2.truncateSync)(this.#path);
    } catch {
    }
  }
  remove() {
    (0, import_node_fs2.rmSync)(this.#path, { force: true });
  }
};

// src/queue/sqlite/worker/main.ts
var POLL_MS = 20;
var IDLE_MS = 250;
var MAX_WAL_BYTES = 64 * 1024 * 1024;
var GROUP_BYTES = 4 * 1024 * 1024;
var GROUP_CALLS = 2e3;
var Worker = class {
  #port;
  #file;
  #peerPath;
  #gate;
  #reserve;
  #sync;
  #isSynchronous;
  #storage;
  #waiting = [];
  #isScheduled = false;
  #isClosing = false;
  #poll;
  #idle;
  #dataVersion;
  #dueChanges;
  constructor(port, { file, peerPath, gate, sync, watch }) {
    this.#port = port;
    this.#file = file;
    this.#peerPath = peerPath;
    this.#gate = new Gate(gate);
    this.#reserve = new Reserve(file);
    this.#sync = sync;
    this.#watch(watch);
    port.on("message", (post) => this.#receive(post));
  }
  #receive(post) {
    if (post.kind === "settings") {
      this.#sync = post.sync;
      this.#watch(post.watch);
      return;
    }
    if (post.kind === "close") this.#isClosing = true;
    else for (const call of post.calls) this.#waiting.push({ call, bodies: post.bodies });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#unlessStopped(() => this.#work()));
  }
  #work() {
    this.#isScheduled = false;
    clearTimeout(this.#idle);
    while (this.#waiting.length > 0) this.#answer(this.#nextGroup());
    if (this.#isClosing) this.#close();
    else this.#idle = setTimeout(() => this.#unlessStopped(() => this.#checkpoint()), IDLE_MS);
  }
  #nextGroup() {
    let bytes = 0;
    let count = 0;
    for (const { call } of this.#waiting) {
      if (count >= GROUP_CALLS || bytes > GROUP_BYTES) break;
      count += 1;
      if (call[1] === "enqueue") for (const entry of call[2].entries) bytes += entry[3];
    }
    const group = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return group;
  }
  #answer(calls) {
    const into = noAnswers();
    try {
      runGroup(this.#opened(), calls, into);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      const failure = failureAnswer(error, this.#file);
      into.answers.push(...calls.map(({ call }) => [call[0], null, 0, failure]));
      into.isBroken ||= isBroken(error);
    }
    if (into.isBroken) this.#drop();
    if (into.due) this.#dueChanges = into.dueChanges;
    const damage = into.lost.length === 0 ? null : { kind: "rows", lost: into.lost };
    this.#send({ ...into, bodies: joined(into), damage });
    this.#boundWal();
  }
  #send({ answers, bodies, due, damage }) {
    this.#port.postMessage({ answers, bodies, due, damage }, [bodies.buffer]);
  }
  #opened() {
    if (this.#storage === void 0) {
      const isWalMissing = this.#reserve.isThere && !(0, import_node_fs3.existsSync)(\`\${this.#file}-wal\`);
      const engine = this.#gate.run(() => loadEngine(this.#peerPath));
      const database2 = openDatabase({ engine, gate: this.#gate, file: this.#file });
      this.#storage = { file: this.#file, database: database2, reserve: this.#reserve };
      this.#isSynchronous = void 0;
      this.#reserve.ensure();
      if (isWalMissing) this.#sendDamage();
    }
    const { database } = this.#storage;
    if (this.#isSynchronous !== this.#sync) {
      this.#isSynchronous = this.#sync;
      database.quickly(
        () => database.exec(\`pragma synchronous = \${this.#sync ? "full" : "normal"}\`)
      );
    }
    return this.#storage;
  }
  #sendDamage() {
    const damage = { kind: "missing-wal", lost: [] };
    this.#send({ answers: [], bodies: new Uint8Array(0), due: false, damage });
  }
  /** Closes a connection that reported an error, so that the next call opens the file again. */
  #drop() {
    try {
      this.#storage?.database.close();
    } catch (error) {
      if (error instanceof Stopped) throw error;
    }
    this.#storage = void 0;
  }
  #watch(isWatching) {
    clearInterval(this.#poll);
    this.#poll = isWatching ? setInterval(() => this.#unlessStopped(() => this.#look()), POLL_MS) : void 0;
  }
  /** Looks for what other processes have made due. */
  #look() {
    const database = this.#storage?.database;
    if (database === void 0) return;
    const isDue = database.quickly(() => {
      const version = database.get("pragma data_version")?.["data_version"];
      if (version === this.#dataVersion) return false;
      this.#dataVersion = version;
      const changes = database.get("select due_changes from queue_state")?.["due_changes"];
      const isChanged = changes !== this.#dueChanges;
      this.#dueChanges = changes;
      return isChanged;
    });
    if (isDue) {
      this.#send({ answers: [], bodies: new Uint8Array(0), due: true, damage: null });
    }
  }
  /** Moves the WAL into the database. Fails while another connection is busy, and is tried later. */
  #checkpoint() {
    const database = this.#storage?.database;
    database?.quickly(() => database.all("pragma wal_checkpoint(truncate)"));
  }
  /** SQLite cannot reset the WAL while other connections write: here they wait for a moment. */
  #boundWal() {
    const size = (0, import_node_fs3.statSync)(\`\${this.#file}-wal\`, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_WAL_BYTES) this.#checkpoint();
  }
  #close() {
    const storage = this.#storage;
    this.#reserve.remove();
    storage?.database.close();
    this.#watch(false);
    this.#port.close();
  }
  /** When the process ends, the worker stands still. Other errors of timers are tried again. */
  #unlessStopped(work) {
    try {
      work();
    } catch (error) {
      if (error instanceof Stopped) return;
      if (this.#isClosing) throw error;
    }
  }
};
function joined({ bodies, bytes }) {
  const all = new Uint8Array(bytes);
  let end = 0;
  for (const body of bodies) {
    all.set(body, end);
    end += body.length;
  }
  return all;
}
if (import_node_worker_threads.parentPort !== null) new Worker(import_node_worker_threads.parentPort, import_node_worker_threads.workerData);
`;

// src/queue/sqlite/file-worker.ts
var EXIT_WAIT_MS = 1500;
var FileWorker = class {
  #worker;
  #gate = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  #pending = /* @__PURE__ */ new Map();
  #ended;
  /** Calls of this turn of the event loop: they go in one post. */
  #calls = [];
  #bodies = [];
  #bodyBytes = 0;
  #lastId = 0;
  #isOver = false;
  constructor(file, settings, onEvent) {
    const data = {
      file,
      peerPath: peerPath(),
      gate: this.#gate.buffer,
      ...settings
    };
    this.#worker = untraced(() => start(data));
    this.#worker.unref();
    this.#worker.on("message", (post) => {
      this.#settle(post);
      if (post.due || post.damage !== null) onEvent(post);
    });
    this.#worker.on("error", (cause) => this.#fail(cause));
    this.#ended = new Promise((resolve3) => {
      this.#worker.on("exit", () => {
        this.#fail(new Error("the worker ended"));
        resolve3();
      });
    });
  }
  /** Whether it takes calls no more. */
  get isOver() {
    return this.#isOver;
  }
  /** Rejects with a SecurityEventError. A call under way keeps the process alive. */
  call(operation, argument, {
    nowMs,
    bodies = []
  }) {
    return new Promise((resolve3, reject) => {
      this.#lastId += 1;
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(this.#lastId, { resolve: resolve3, reject });
      if (this.#calls.length === 0) process.nextTick(() => this.#flush());
      const call = [this.#lastId, operation, argument, nowMs, this.#bodyBytes];
      this.#calls.push(call);
      for (const body of bodies) {
        this.#bodies.push(body);
        this.#bodyBytes += body.length;
      }
    });
  }
  configure({ sync, watch }) {
    this.#flush();
    this.#post({ kind: "settings", sync, watch });
  }
  /** Ends the worker once the calls before are done. */
  async close() {
    this.#flush();
    this.#isOver = true;
    this.#worker.ref();
    this.#post({ kind: "close" });
    await this.#ended;
  }
  /** Waits until the worker is outside SQLite, and keeps it there. */
  stop() {
    this.#isOver = true;
    Atomics.store(this.#gate, GATE_STOP, 1);
    Atomics.notify(this.#gate, GATE_STOP);
    Atomics.wait(this.#gate, GATE_BUSY, 1, EXIT_WAIT_MS);
  }
  #flush() {
    if (this.#calls.length === 0) return;
    const bodies = new Uint8Array(this.#bodyBytes);
    let end = 0;
    for (const body of this.#bodies) {
      bodies.set(body, end);
      end += body.length;
    }
    const calls = this.#calls;
    this.#calls = [];
    this.#bodies = [];
    this.#bodyBytes = 0;
    this.#post({ kind: "calls", calls, bodies }, [bodies.buffer]);
  }
  #post(post, transfer = []) {
    try {
      this.#worker.postMessage(post, transfer);
    } catch (error) {
      this.#fail(error);
    }
  }
  #settle({ answers, bodies }) {
    const all = Buffer.from(bodies.buffer, bodies.byteOffset, bodies.byteLength);
    for (const [id, value, bodiesAt, failure] of answers) {
      const call = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === null) call?.resolve({ value, bodies: all.subarray(bodiesAt) });
      else call?.reject(errorOf2(failure));
    }
    if (this.#pending.size === 0 && !this.#isOver) this.#worker.unref();
  }
  #fail(cause) {
    this.#isOver = true;
    const detail = "the worker of the file ended";
    for (const { reject } of this.#pending.values()) {
      reject(new SecurityEventError("ERR_QUEUE_FAILED", { detail, cause }));
    }
    this.#pending.clear();
  }
};
var start = (workerData) => new Worker(WORKER_SOURCE, {
  eval: true,
  name: "security-event-delivery: sqlite",
  workerData,
  env: {},
  execArgv: [],
  argv: []
});
function errorOf2({ code, detail, path = [], cause }) {
  const source = cause === void 0 ? {} : { cause: Object.assign(new Error(cause.message), cause) };
  return new SecurityEventError(code, { detail, path, ...source });
}

// src/queue/sqlite/shared-file.ts
var REGISTRY = /* @__PURE__ */ Symbol.for("security-event-delivery.sqlite-files");
var SharedFile = class {
  #path;
  #listeners = /* @__PURE__ */ new Set();
  #worker;
  #closing;
  constructor(path) {
    this.#path = path;
  }
  add(listener) {
    this.#listeners.add(listener);
    this.refresh();
  }
  /** Tells the worker what the handles want. */
  refresh() {
    this.#worker?.configure(this.#settings());
  }
  async call(operation, argument, options) {
    await this.#closing;
    if (this.#worker === void 0 || this.#worker.isOver) this.#worker = this.#start();
    return await this.#worker.call(operation, argument, options);
  }
  /** The last one closes the file. */
  async remove(listener) {
    if (!this.#listeners.delete(listener)) return;
    if (this.#listeners.size > 0) {
      this.refresh();
      return;
    }
    this.#closing = this.#close();
    await this.#closing;
    if (this.#listeners.size === 0) forgetFile(this.#path, this);
  }
  async #close() {
    await this.#closing;
    const worker = this.#worker;
    if (worker !== void 0 && !worker.isOver) await worker.close();
  }
  stop() {
    this.#worker?.stop();
  }
  #settings() {
    const listeners = [...this.#listeners];
    return {
      sync: listeners.some(({ sync }) => sync),
      watch: listeners.some(({ watches }) => watches())
    };
  }
  #start() {
    return new FileWorker(this.#path, this.#settings(), ({ due, damage }) => {
      if (damage !== null)
        this.#report({ file: this.#path, kind: damage.kind, applications: damage.lost });
      if (due) for (const { onDue } of this.#listeners) onDue();
    });
  }
  #report(damage) {
    publishDamage(damage);
    for (const { onDamage } of this.#listeners) onDamage(damage);
  }
};
function sharedFile(file) {
  const registry = registryOf();
  if (registry.version !== PROTOCOL_VERSION) {
    const detail = "another version of this package has opened SQLite queues in this process";
    throw new SecurityEventError("ERR_QUEUE_FAILED", { detail });
  }
  const path = realPath(file);
  const known = registry.files.get(path);
  if (known !== void 0) return known;
  if (registry.files.size === 0) process3.on("exit", stopAll);
  const made = new SharedFile(path);
  registry.files.set(path, made);
  return made;
}
function registryOf() {
  const scope = globalThis;
  scope[REGISTRY] ??= { version: PROTOCOL_VERSION, files: /* @__PURE__ */ new Map() };
  return scope[REGISTRY];
}
function stopAll() {
  for (const file of registryOf().files.values()) file.stop();
}
function forgetFile(path, file) {
  const { files } = registryOf();
  if (files.get(path) !== file) return;
  files.delete(path);
  if (files.size === 0) process3.off("exit", stopAll);
}
var MAX_LINKS = 40;
function realPath(file) {
  try {
    let path = file;
    for (let links = 0; links < MAX_LINKS && isLink(path); links += 1) {
      path = resolve(dirname(path), readlinkSync(path));
    }
    mkdirSync(dirname(path), { recursive: true, mode: 448 });
    const real = join2(realpathSync.native(dirname(path)), basename(path));
    refuseHardLink(real);
    return real;
  } catch (cause) {
    if (cause instanceof SecurityEventError) throw cause;
    const detail = "the folder of the file cannot be used";
    throw new SecurityEventError("ERR_QUEUE_FAILED", { detail, cause });
  }
}
var isLink = (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
function refuseHardLink(path) {
  if ((statSync(path, { throwIfNoEntry: false })?.nlink ?? 1) <= 1) return;
  const detail = "the file has a second name (a hard link), by which another process could damage it";
  throw new SecurityEventError("ERR_QUEUE_FAILED", { detail });
}

// src/queue/sqlite/sqlite-options.ts
import { resolve as resolve2 } from "node:path";

// src/option-rules.ts
var MAX_TIMER_MS = 2 ** 31 - 1;
var usable = (expected, isUsable) => ({
  expected,
  isUsable
});
var integer = (min, max) => ({
  expected: `an integer from ${min} to ${max}`,
  isUsable: (value) => isInteger(value, min, max)
});
var object = (expected, isUsable) => ({
  expected,
  isUsable: (value) => typeof value === "object" && value !== null && isUsable(value)
});
var A_FUNCTION = usable("a function", (value) => typeof value === "function");
var SIGNAL = object(
  "an AbortSignal",
  (value) => "aborted" in value && typeof value.aborted === "boolean" && "addEventListener" in value
);
var THE_OPTIONS = { name: "the options", path: [] };
function check(given, rules, { name, path } = THE_OPTIONS) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidOption(`expected ${name} to be an object`, path);
  }
  const copy = Object.assign(/* @__PURE__ */ Object.create(null), given);
  for (const [key, value] of Object.entries(copy)) {
    const rule = Object.entries(rules).find(([known]) => known === key)?.[1];
    if (rule === void 0) {
      throw invalidOption(`unknown key ${JSON.stringify(key)} in ${name}`, [...path, key]);
    }
    if (value !== void 0 && !rule.isUsable(value)) {
      const option = [...path, key].join(".");
      throw invalidOption(`expected ${option} to be ${rule.expected}`, [...path, key]);
    }
  }
  return copy;
}
function isInteger(value, min, max) {
  return Number.isInteger(value) && value >= min && value <= max;
}
function invalidOption(detail, path) {
  return new SecurityEventError("ERR_INVALID_OPTION", { detail, path });
}

// src/queue/sqlite/sqlite-options.ts
var MIB = 1024 * 1024;
var GIB = 1024 * MIB;
var MOST = Number.MAX_SAFE_INTEGER;
var A_PATH = usable("a path", (value) => typeof value === "string" && value !== "");
var QUEUE_RULES = {
  file: A_PATH,
  sync: usable("true or false", (value) => typeof value === "boolean"),
  maxPendingBytes: integer(1, MOST),
  maxPendingMessages: integer(1, MOST),
  maxDeadBytes: integer(0, MOST),
  onDamage: A_FUNCTION
};
var INCIDENT_RULES = {
  file: A_PATH,
  maxIncidents: integer(1, 1e7),
  maxNames: integer(1, 1e8),
  keptMs: integer(1, MOST)
};
function readQueueOptions(options) {
  const given = check(options, QUEUE_RULES);
  const { sync = true, maxPendingBytes = GIB, maxPendingMessages = 2e6 } = given;
  const { maxDeadBytes = 256 * MIB, onDamage } = given;
  const bounds = { maxPendingBytes, maxPendingMessages, maxDeadBytes };
  const handler = onDamage === void 0 ? {} : { onDamage };
  return { file: pathOf(given.file), sync, ...bounds, ...handler };
}
function pathOf(file) {
  if (file === void 0) throw invalidOption("expected file to be a path", ["file"]);
  return resolve2(file);
}

// src/queue/message-classes.ts
var Stored = class {
  messageId;
  format;
  bytes;
  dateAt;
  countAt;
  constructor({ messageId, format, bytes: bytes2, dateAt, countAt }) {
    this.messageId = messageId;
    this.format = format;
    this.bytes = bytes2;
    this.dateAt = dateAt;
    this.countAt = countAt;
  }
};
var Claimed = class {
  sequence;
  stored;
  sends;
  ageMs;
  progress;
  constructor({ sequence, stored, sends, ageMs, progress }) {
    this.sequence = sequence;
    this.stored = stored;
    this.sends = sends;
    this.ageMs = ageMs;
    this.progress = progress;
  }
};

// src/queue/sqlite/messages.ts
var entryTuple = ({ applicationId, stored, sizeBytes }) => [
  applicationId,
  stored.messageId,
  stored.format,
  stored.bytes.length,
  stored.dateAt,
  stored.countAt,
  sizeBytes
];
var stateOf = ([tier, maxMessages, maxBytes, text]) => ({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker: JSON.parse(text)
});
function claimOf(answer, bodies) {
  const { id, applicationId, format, nowMs } = answer;
  let end = 0;
  const messages = answer.messages.map((tuple) => {
    const [sequence, messageId, length, dateAt, countAt, sends, ageMs, progress] = tuple;
    const bytes2 = bodies.subarray(end, end + length);
    end += length;
    const stored = new Stored({ messageId, format, bytes: bytes2, dateAt, countAt });
    const last = progress === null ? null : JSON.parse(progress);
    return new Claimed({ sequence, stored, sends, ageMs, progress: last });
  });
  return { id, applicationId, format, state: stateOf(answer.state), nowMs, messages };
}
function resultTuples(results) {
  if (results.findIndex((result) => result.kind !== "delivered") === -1) return null;
  return results.map(resultTuple);
}
function resultTuple(result) {
  switch (result.kind) {
    case "delivered":
      return ["delivered"];
    case "dead":
      return ["dead", result.reason, JSON.stringify(result.lastAttempt)];
    case "retry": {
      const { afterMs, maxMessages, progress } = result;
      const limit = maxMessages === void 0 ? null : toWhole(maxMessages);
      return ["retry", afterMs, limit, JSON.stringify(progress)];
    }
  }
}
function deadLettersOf(tuples, bodies) {
  let end = 0;
  return tuples.map((tuple) => {
    const [id, applicationId, messageId, format, length, dateAt, countAt, sizeBytes] = tuple;
    const [, , , , , , , , sends, reason, lastAttempt, acceptedAt, diedAt] = tuple;
    const bytes2 = bodies.subarray(end, end + length);
    end += length;
    return {
      id: String(id),
      applicationId,
      stored: new Stored({ messageId, format, bytes: bytes2, dateAt, countAt }),
      sizeBytes,
      sends,
      reason,
      lastAttempt: JSON.parse(lastAttempt),
      acceptedAt,
      diedAt
    };
  });
}
var REASONS = ["purged", "evicted", "lost"];
function ledgerOf([, , accepted, delivered, pending, dead, ...discarded]) {
  const counts = REASONS.map((reason, index) => [reason, discarded[index] ?? 0]);
  return {
    accepted,
    delivered,
    pending,
    dead,
    discarded: Object.fromEntries(counts.filter(([, count]) => count > 0))
  };
}
function statsOf(answer) {
  const { applications: tuples, pendingBytes, oldestDueMs } = answer;
  const applications = new Map(
    tuples.map((tuple) => [tuple[0], { ...ledgerOf(tuple), tier: tuple[1] }])
  );
  const sum = (place) => tuples.reduce((total2, tuple) => total2 + tuple[place], 0);
  const total = ["", "healthy", sum(2), sum(3), sum(4), sum(5), sum(6), sum(7), sum(8)];
  return { ...ledgerOf(total), pendingBytes, oldestDueMs, applications };
}

// src/queue/sqlite/sqlite-queue.ts
var SqliteQueue = class {
  durability;
  #settings;
  #clock;
  #due = /* @__PURE__ */ new Set();
  #listener;
  /** Claims that were neither settled nor released. */
  #claims = /* @__PURE__ */ new Set();
  /** Calls under way. */
  #running = /* @__PURE__ */ new Set();
  #opened;
  #closing;
  constructor(settings, clock) {
    this.durability = settings.sync ? "power-loss" : "process-crash";
    this.#settings = settings;
    this.#clock = clock;
    this.#listener = {
      sync: settings.sync,
      watches: () => this.#due.size > 0,
      onDue: () => this.#notify(),
      onDamage: (damage) => reportDamage(damage, settings.onDamage)
    };
  }
  async open(initialState) {
    if (this.#closing !== void 0) throw new SecurityEventError("ERR_QUEUE_CLOSED");
    const file = this.#opened?.file ?? sharedFile(this.#settings.file);
    const { maxPendingBytes, maxPendingMessages } = this.#settings;
    const bounds = { maxPendingBytes, maxPendingMessages };
    const opened = { file, settings: { initialState: stateTuple(initialState), bounds } };
    file.add(this.#listener);
    try {
      const { value } = await file.call("open", null, { nowMs: this.#nowMs() });
      this.#opened = opened;
      return value;
    } catch (error) {
      if (this.#opened === void 0) await file.remove(this.#listener);
      throw error;
    }
  }
  async enqueue(entries, delayMs = 0) {
    const { settings } = this.#session();
    const argument = { entries: entries.map(entryTuple), delayMs, settings };
    const bodies = entries.map(({ stored }) => stored.bytes);
    return (await this.#call("enqueue", argument, bodies)).value;
  }
  async claim(request) {
    const { tiers, maxMessages, maxBytes, leaseMs } = request;
    const limits = { maxMessages: toWhole(maxMessages), maxBytes: toWhole(maxBytes) };
    const { value, bodies } = await this.#call("claim", { tiers: [...tiers], ...limits, leaseMs });
    if (!("messages" in value)) return value;
    this.#claims.add(value.id);
    return claimOf(value, bodies);
  }
  async settle({ id }, results, state) {
    const { value } = await this.#call("settle", {
      id,
      results: resultTuples(results),
      count: results.length,
      update: updateOf(state),
      maxDeadBytes: this.#settings.maxDeadBytes
    });
    this.#claims.delete(id);
    return value ? "settled" : "lost";
  }
  async release({ id }, state) {
    const update = state === void 0 ? null : updateOf(state);
    const { value } = await this.#call("release", { id, update });
    this.#claims.delete(id);
    return value ? "released" : "lost";
  }
  async extend({ id }, leaseMs) {
    return (await this.#call("extend", { id, leaseMs })).value ? "extended" : "lost";
  }
  async expire(olderThanMs, maxMessages) {
    const { maxDeadBytes } = this.#settings;
    return (await this.#call("expire", { olderThanMs, maxMessages, maxDeadBytes })).value;
  }
  async countPending(ranges) {
    const copies = ranges.map(({ from, to }) => ({ from, to }));
    return (await this.#call("countPending", copies)).value;
  }
  async applicationState(applicationId) {
    const { value } = await this.#call("applicationState", applicationId);
    return value === null ? void 0 : stateOf(value);
  }
  async closeApplication(applicationId, maxMessages) {
    const { initialState } = this.#session().settings;
    const { maxDeadBytes } = this.#settings;
    const argument = { applicationId, initialState, maxMessages, maxDeadBytes };
    return (await this.#call("closeApplication", argument)).value;
  }
  async reopenApplication(applicationId) {
    const state = this.#session().settings.initialState;
    await this.#call("reopenApplication", { applicationId, state });
  }
  async listDeadLetters({
    limit,
    after,
    ...filter
  }) {
    const argument = { filter: filterOf(filter), limit: limit + 1, after: Number(after ?? 0) };
    const { value, bodies } = await this.#call("listDeadLetters", argument);
    const items = deadLettersOf(value.slice(0, limit), bodies);
    const next = value.length > limit ? items.at(-1)?.id : void 0;
    return next === void 0 ? { items } : { items, next };
  }
  async replayDeadLetters(filter) {
    const { bounds } = this.#session().settings;
    return await this.#inPages(filter, (page) => this.#call("replay", { ...page, bounds }));
  }
  async purgeDeadLetters(filter) {
    return await this.#inPages(filter, (page) => this.#call("purge", page));
  }
  /** Each page is a transaction, so that other processes do not wait for all of them. */
  async #inPages(filter, call) {
    let page = { filter: filterOf(filter), after: 0 };
    let sum = 0;
    while (page !== void 0) {
      const { value } = await call(page);
      sum += value.count;
      const { after, upTo } = value;
      page = after === void 0 ? void 0 : { filter: page.filter, after, upTo };
    }
    return sum;
  }
  async stats() {
    return statsOf((await this.#call("stats", null)).value);
  }
  onDue(listener) {
    const call = () => listener();
    this.#due.add(call);
    this.#opened?.file.refresh();
    return () => {
      this.#due.delete(call);
      this.#opened?.file.refresh();
    };
  }
  #notify() {
    for (const listener of this.#due) listener();
  }
  async close() {
    this.#closing ??= this.#end();
    return await this.#closing;
  }
  async #end() {
    await Promise.allSettled(this.#running);
    this.#due.clear();
    const file = this.#opened?.file;
    if (file === void 0) return { returned: [], left: 0 };
    try {
      const closed = file.call("closeHandle", [...this.#claims], { nowMs: this.#nowMs() });
      return { returned: [], left: (await closed).value };
    } finally {
      await file.remove(this.#listener);
    }
  }
  #session() {
    if (this.#opened === void 0 || this.#closing !== void 0) {
      throw new SecurityEventError("ERR_QUEUE_CLOSED");
    }
    return this.#opened;
  }
  async #call(operation, argument, bodies = []) {
    const { file } = this.#session();
    const running = file.call(operation, argument, { nowMs: this.#nowMs(), bodies });
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
  #nowMs() {
    return this.#clock?.now() ?? null;
  }
};
var updateOf = (update) => ({
  state: stateTuple(update),
  pauseMs: update.pauseMs
});
var filterOf = ({ applicationId, ids }) => ({
  ...applicationId === void 0 ? {} : { applicationId },
  ...ids === void 0 ? {} : { ids: [...ids] }
});

// src/queue/sqlite.ts
function createSqliteQueue(options, clock) {
  return new SqliteQueue(readQueueOptions(options), clock);
}

// ../bench-sq.ts
import { mkdtempSync, rmSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
var folder = mkdtempSync("/tmp/sqbench-");
var queue = createSqliteQueue({ file: `${folder}/q.db`, maxPendingMessages: 5e6, maxPendingBytes: 5e9 });
var S = { tier: "healthy", maxMessages: 1e3, maxBytes: 1e7, circuitBreaker: null };
await queue.open(S);
var bytes = Buffer.alloc(700, "abcdefg");
var n = 0;
var entry = (a = "app") => ({ applicationId: a, stored: { messageId: `0192aaaa-bbbb-7ccc-8ddd-${n++}`, format: 2, bytes, dateAt: 10, countAt: 50 }, sizeBytes: 701 });
async function drain() {
  const t = performance.now();
  let m = 0;
  const c0 = process.cpuUsage();
  for (; ; ) {
    const c = await queue.claim({ tiers: ["healthy"], maxMessages: 1e3, maxBytes: 1e7, leaseMs: 6e4 });
    if (!("messages" in c)) break;
    m += c.messages.length;
    await queue.settle(c, c.messages.map(() => ({ kind: "delivered" })), { ...S, pauseMs: 0 });
  }
  const c1 = process.cpuUsage(c0);
  console.log("cpu us/msg", ((c1.user + c1.system) / m).toFixed(1));
  console.log("claim+settle", m, Math.round(m / (performance.now() - t) * 1e3), "/s");
}
for (const [callers, total] of [[1, 3e3], [64, 3e4], [1e3, 1e5]]) {
  const cpu0 = process.cpuUsage();
  const h = monitorEventLoopDelay({ resolution: 1 });
  h.enable();
  let left = total;
  const t = performance.now();
  const lat = [];
  await Promise.all(Array.from({ length: callers }, async () => {
    while (left > 0) {
      left -= 1;
      const s2 = performance.now();
      await queue.enqueue([entry()]);
      lat.push(performance.now() - s2);
    }
  }));
  const s = (performance.now() - t) / 1e3;
  h.disable();
  lat.sort((a, b) => a - b);
  const cu = process.cpuUsage(cpu0);
  console.log("cpu us/msg", ((cu.user + cu.system) / total).toFixed(1), "sys", (cu.system / total).toFixed(1));
  console.log("accept", callers, Math.round(total / s), "/s p50", lat[lat.length >> 1]?.toFixed(2), "p99", lat[Math.floor(lat.length * 0.99)]?.toFixed(2), "loop p99", (h.percentile(99) / 1e6).toFixed(1), "max", (h.max / 1e6).toFixed(1));
  await drain();
}
{
  const t = performance.now();
  for (let i = 0; i < 100; i++) await queue.enqueue(Array.from({ length: 1e3 }, () => entry()));
  console.log("accept batches of 1000", Math.round(1e5 / (performance.now() - t) * 1e3));
  await drain();
}
if (process.argv[2]) {
  let t = performance.now();
  for (let i = 0; i < 1e3; i++) await queue.enqueue(Array.from({ length: 1e3 }, (_, k) => entry(`app${k}`)));
  console.log("fill 1M", Math.round(performance.now() - t), "ms");
  await queue.close();
  const q2 = createSqliteQueue({ file: `${folder}/q.db` });
  t = performance.now();
  const b = await q2.open(S);
  console.log("open", (performance.now() - t).toFixed(1), b);
  t = performance.now();
  const c = await q2.claim({ tiers: ["healthy"], maxMessages: 1e3, maxBytes: 1e7, leaseMs: 6e4 });
  console.log("first claim", (performance.now() - t).toFixed(1), "messages" in c && c.messages.length);
  t = performance.now();
  await q2.claim({ tiers: ["healthy"], maxMessages: 1e3, maxBytes: 1e7, leaseMs: 6e4 });
  console.log("second claim", (performance.now() - t).toFixed(1));
  t = performance.now();
  await q2.stats();
  console.log("stats", (performance.now() - t).toFixed(1));
  t = performance.now();
  console.log(await q2.countPending([{ from: 1, to: 2e9 }]), "countPending", (performance.now() - t).toFixed(1));
  await q2.close();
} else await queue.close();
rmSync(folder, { recursive: true });
