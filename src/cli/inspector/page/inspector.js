// @ts-check
/** The inspector's page. Every received value is inserted as text, never as HTML. */

/** @typedef {import('../entries.ts').Entry & { sequence: number, isResendable: boolean }} Entry */

const ROW_HEIGHT = 64;
const MAX_ENTRIES = 10_000;
const MAX_CHARACTERS = 64 * 2 ** 20;
/** Browsers need seconds to lay out more. */
const MAX_SHOWN_CHARACTERS = 100_000;
const SEARCHED = /** @type {const} */ (['label', 'source', 'reason', 'title', 'subtitle', 'body']);
const MAX_CHOICES = 200;
const SIGNS = { verified: '✓', valid: '✓', invalid: '!', refused: '✕' };

const element = (/** @type {string} */ id) => document.getElementById(id) ?? document.body;
const field = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (element(id));
const [list, rows, detail] = [element('list'), element('rows'), element('detail')];

/** @type {Entry[]} Oldest first. */
let entries = [];
/** @type {Entry[]} Entries that pass the filters, newest first. */
let visible = [];
/** @type {Entry[]} Received, but not shown yet: until the next frame, or while the page is paused. */
let arrived = [];
/** @type {Entry | undefined} */
let selected;
/** Whether the newest entry is selected as it arrives. */
let isFollowing = true;
let isPaused = false;
/** @type {number | undefined} The next frame, which shows all entries that arrive until then. */
let frame;
let characters = 0;
let hint = '';

// Makes an element of a tag and a class, such as `p.facts`. Strings become text nodes.
/** @param {string} name @param {object} properties @param {(Node | string | false)[]} children */
function make(name, properties, ...children) {
  const [tag = '', className = ''] = name.split('.');
  const made = Object.assign(document.createElement(tag), { className }, properties);
  made.append(...children.filter((child) => child !== false));
  return made;
}

/** @param {string} name @param {readonly string[]} all */
const texts = (name, all) => all.map((text) => make(name, {}, text));
/** @param {string} text @param {() => unknown} onclick */
const button = (text, onclick) => make('button', { type: 'button', onclick }, text);
/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;
/** @param {string | number | undefined} time @param {Intl.DateTimeFormatOptions} style */
const timeText = (time = '', style = { dateStyle: 'medium', timeStyle: 'medium' }) => {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toLocaleString('en-GB', style);
};

function filterEntries() {
  const filters = ['verdict', 'type', 'application', 'text'].map((id) => field(id).value);
  const [verdict = '', type = '', application = '', text = ''] = filters;
  const has = (/** @type {string} */ value) => value.toLowerCase().includes(text.toLowerCase());
  const passes = (/** @type {Entry} */ { messages, ...entry }) =>
    (verdict === '' || entry.verdict === verdict) &&
    (type === '' || messages.some((message) => message.type === type)) &&
    (application === '' || messages.some((message) => message.application === application)) &&
    (text === '' || SEARCHED.some((name) => has(entry[name])));
  visible = entries.filter(passes).toReversed();
  rows.style.height = `${visible.length * ROW_HEIGHT}px`;
  if (isFollowing) select(visible[0]);
  renderList();
}

/** @param {'type' | 'application'} id @param {Entry} entry */
function addChoices(id, { messages }) {
  const known = [...field(id).options].map(({ value }) => value);
  const found = messages.map((message) => message[id] ?? '').filter((it) => !known.includes(it));
  if (known.length < MAX_CHOICES) field(id).append(...texts('option', [...new Set(found)]));
}

function showArrived() {
  frame = undefined;
  if (isPaused) return renderList();
  const [added, [newest]] = [arrived, visible];
  arrived = [];
  for (const entry of added) {
    entries.push(entry);
    characters += entry.body.length;
    addChoices('type', entry);
    addChoices('application', entry);
  }
  while (entries.length > MAX_ENTRIES || (characters > MAX_CHARACTERS && entries.length > 1)) {
    characters -= entries.shift()?.body.length ?? 0;
  }
  filterEntries();
  // The rows on the screen do not move.
  const above = newest === undefined ? 0 : visible.indexOf(newest);
  if (list.scrollTop > 0 && above > 0) list.scrollTop += above * ROW_HEIGHT;
  const last = added.at(-1);
  if (last) element('news').textContent = `New: ${last.reason}, ${last.title}`;
}

/** Makes only the rows that can be seen. */
function renderList() {
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - 4);
  const last = Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + 4;
  rows.replaceChildren(...visible.slice(first, last).map((entry, at) => rowOf(entry, first + at)));
  const active = rows.querySelector('[aria-selected="true"]')?.id ?? '';
  list.setAttribute('aria-activedescendant', active);
  const waiting = isPaused ? ` · ${arrived.length} waiting` : '';
  element('count').textContent = `${visible.length} of ${entries.length} shown${waiting}`;
}

/** @param {Entry} entry @param {number} index */
function rowOf(entry, index) {
  const { verdict, title, subtitle, attempt = 1, receivedAt, status, sequence, label } = entry;
  const properties = {
    id: `row-${sequence}`,
    role: 'option',
    ariaSelected: String(entry === selected),
    ariaPosInSet: String(index + 1),
    ariaSetSize: String(visible.length),
    onclick: () => choose(entry),
  };
  const badge = attempt > 1 && make('span.badge', {}, `attempt ${attempt}`);
  const row = make(
    'div',
    properties,
    make('span.sign', { role: 'img', ariaLabel: verdict }, SIGNS[verdict]),
    make('span', {}, make('b', {}, title)),
    make('span.label', {}, make('b', {}, String(status ?? '')), ` ${label}`),
    make('span.subtitle', {}, subtitle, badge),
    make('span.label', {}, timeText(receivedAt, { timeStyle: 'medium' })),
  );
  row.dataset['verdict'] = verdict;
  row.style.top = `${index * ROW_HEIGHT}px`;
  return row;
}

/** Selects an entry by hand. @param {Entry | undefined} entry */
function choose(entry) {
  isFollowing = entry === visible[0];
  document.body.classList.add('shows-detail');
  select(entry);
  renderList();
}

/** @param {Entry | undefined} entry */
function select(entry) {
  if (entry !== undefined && entry === selected) return;
  selected = entry;
  detail.replaceChildren(...(entry === undefined ? [] : detailOf(entry)));
  element('hint').textContent = entries.length > 0 ? 'No entry passes the filters.' : hint;
  element('selected').scrollTop = 0;
}

function detailOf(/** @type {Entry} */ entry) {
  const { messages, moreMessages, issues, headers } = entry;
  return [
    summaryOf(entry),
    issues.length > 0 && issuesOf(entry),
    ...messages.map((message) => cardOf(message, messages.length <= 3)),
    moreMessages > 0 && make('p', {}, `The body has ${counted(moreMessages, 'more message')}.`),
    headers.length > 0 && section('Headers', false, definitions(headers)),
    ...bodyOf(entry),
  ].filter((child) => child !== false);
}

function summaryOf(/** @type {Entry} */ entry) {
  const { verdict, reason, advice, facts, curl, body, encoding, receivedAt } = entry;
  const output = make('output', {});
  const copy = async (/** @type {string} */ text) => {
    output.textContent = 'The browser refused to copy.';
    await navigator.clipboard.writeText(text);
    output.textContent = 'Copied.';
  };
  const resend = async () => {
    output.textContent = 'Sending…';
    const response = await fetch(`resend/${entry.sequence}`, { method: 'POST' }).catch(() => null);
    output.textContent = (await response?.text()) ?? 'security-events does not answer.';
  };
  const decode = encoding === 'text' ? '' : 'base64 --decode | ';
  const data = body.replaceAll("'", `'\\''`);
  // Piped to curl, since an argument has at most 128 KiB.
  const command = `printf '%s' '${data}' | ${decode}${curl} \\\n  --data-binary @-`;
  const summary = make(
    'div.summary',
    {},
    make('h2', {}, make('span.sign', { ariaHidden: 'true' }, SIGNS[verdict]), reason),
    ...texts('p.advice', advice),
    definitions(receivedAt === undefined ? facts : [...facts, ['received', timeText(receivedAt)]]),
    curl !== '' && button('Copy as curl', () => copy(command)),
    body !== '' && button('Copy body', () => copy(body)),
    entry.isResendable && button('Send again', resend),
    output,
  );
  summary.dataset['verdict'] = verdict;
  return summary;
}

/** @param {Entry['messages'][number]} message @param {boolean} open */
function cardOf({ title, route, badges, when, rows: pairs }, open) {
  const heading = make(
    'summary',
    {},
    make('h3', {}, title),
    make('time', {}, timeText(when)),
    make('span.route', {}, ...texts('span', route)),
    make('span', {}, ...texts('span.badge', badges)),
  );
  return make('details.card', { open }, heading, definitions(pairs));
}

const definitions = (/** @type {Entry['headers']} */ pairs) =>
  make('dl', {}, ...pairs.flatMap(([term, text]) => [make('dt', {}, term), make('dd', {}, text)]));

/** @param {string} title @param {boolean} open @param {(Node | false)[]} content */
const section = (title, open, ...content) =>
  make('details', { open }, make('summary', {}, make('h3', {}, title)), ...content);

function issuesOf(/** @type {Entry} */ { issues, moreIssues }) {
  const head = make('tr', {}, ...texts('th', ['Path', 'Expected', 'Found']));
  const body = issues.map(({ path, expected, found }) =>
    make('tr', {}, ...texts('td', [path, expected, found])),
  );
  const table = make('table', {}, make('thead', {}, head), make('tbody', {}, ...body));
  const note = moreIssues > 0 && make('p.advice', {}, `The first ${issues.length} are shown.`);
  return section(counted(issues.length + moreIssues, 'contract issue'), true, table, note);
}

/** The signature depends on every byte of the raw body; the formatted one is for people. */
function bodyOf(/** @type {Entry} */ { body, bodyLength, encoding, verdict }) {
  const isCut = bodyLength > MAX_SHOWN_CHARACTERS;
  const formatted = isCut ? '' : formattedJson(body);
  const isRawFirst = verdict === 'refused' || formatted === '';
  const cut = `The first ${MAX_SHOWN_CHARACTERS} of ${bodyLength} characters are shown.`;
  const title = encoding === 'text' ? 'Raw body' : 'Raw body in base64';
  const pre = (/** @type {string} */ text) => make('pre', { tabIndex: 0 }, text);
  const raw = [pre(body.slice(0, MAX_SHOWN_CHARACTERS)), isCut && make('p.advice', {}, cut)];
  return [
    formatted !== '' && section('Formatted body', !isRawFirst, pre(formatted)),
    body !== '' && section(title, isRawFirst, ...raw),
  ];
}

function formattedJson(/** @type {string} */ text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return '';
  }
}

function onKey(/** @type {KeyboardEvent} */ event) {
  const at = selected === undefined ? -1 : visible.indexOf(selected);
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const step = Object.entries(steps).find(([key]) => key === event.key)?.[1];
  if (event.key === 'Enter') detail.focus();
  if (step === undefined || visible.length === 0) return;
  event.preventDefault();
  const index = Math.min(visible.length - 1, Math.max(0, at + step));
  const top = index * ROW_HEIGHT;
  list.scrollTop = Math.min(top, Math.max(list.scrollTop, top + ROW_HEIGHT - list.clientHeight));
  choose(visible[index]);
}

const showState = (/** @type {string} */ state) => {
  element('connection').textContent = element('connection').className = state;
};
const stream = new EventSource('events');
stream.addEventListener('open', () => showState('Live'));
stream.addEventListener('error', () => showState('Disconnected'));
stream.addEventListener('heading', ({ data }) => {
  ({ hint, source: element('source').textContent } = JSON.parse(data));
  if (entries.length === 0) select(undefined);
});
stream.addEventListener('message', ({ data }) => {
  arrived.push(JSON.parse(data));
  if (arrived.length > MAX_ENTRIES) arrived.shift();
  if (frame === undefined) frame = requestAnimationFrame(showArrived);
});
stream.addEventListener('clear', () => {
  [entries, arrived, characters, isFollowing] = [[], [], 0, true];
  document.body.classList.remove('shows-detail');
  filterEntries();
});
list.addEventListener('scroll', () => requestAnimationFrame(renderList), { passive: true });
list.addEventListener('keydown', onKey);
element('filters').addEventListener('input', filterEntries);
element('clear').addEventListener('click', () => {
  stream.dispatchEvent(new Event('clear'));
  fetch('clear', { method: 'POST' }).catch(() => {});
});
element('back').addEventListener('click', () => {
  document.body.classList.remove('shows-detail');
  list.focus();
});
element('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  element('pause').textContent = isPaused ? 'Resume' : 'Pause';
  showArrived();
});
new ResizeObserver(renderList).observe(list);
