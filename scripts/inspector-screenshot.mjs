/** Takes the screenshots of the inspector for the docs: `node scripts/inspector-screenshot.mjs [FOLDER]`. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { sign } from '../dist/index.js';
import { sampleMessage } from '../dist/testing/index.js';

const root = join(import.meta.dirname, '..');
const [folder = join(root, 'docs')] = process.argv.slice(2);
const SECRET = 'secret of the pictures';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let events = 0;
const attack = (what, kind, facts = {}) => {
  events += 1;
  const { retry_count = 0, application_id = 'shop-1', application_name = 'shop' } = facts;
  const now = new Date().toISOString().replace('Z', '+00:00');
  return sampleMessage('security_event', {
    message_id: `01a1fd8c-6900-7000-8000-00000000000${events}`,
    date_created: now,
    retry_count,
    message: {
      application_id,
      application_name,
      date_occurred: now,
      event_kind: kind,
      event_id: `event-${events}`,
      humanized_description: what,
      ips: [{ address: what.split(' from ')[1], date_resolved: now, geo: {}, is_tor: false }],
    },
  });
};

const BLOG = { application_id: 'blog-1', application_name: 'blog' };
const REQUESTS = [
  { messages: [attack('SQL injection from 203.0.113.9', 'sql_injection')] },
  { messages: [sampleMessage('security_response', { message_id: 'response-1' })] },
  { messages: [attack('Path traversal from 203.0.113.77', 'lfi', { retry_count: 2 })] },
  {
    messages: [
      { ...attack('Shell injection from 192.0.2.44', 'shell_injection'), retry_count: 'two' },
    ],
  },
  {
    messages: [
      attack('Shell injection from 192.0.2.44', 'shell_injection'),
      attack('SQL injection from 192.0.2.44', 'sql_injection'),
    ],
  },
  {
    messages: [attack('Cross-site scripting from 198.51.100.7', 'xss', BLOG)],
    secret: 'the secret before the rotation',
  },
  { messages: [attack('SQL injection from 203.0.113.9', 'sql_injection')] },
];

async function post(url, { messages, secret = SECRET }) {
  const body = JSON.stringify(messages);
  const headers = { 'content-type': 'application/json', 'x-svc-integrity': sign(body, secret) };
  await fetch(url, { method: 'POST', headers, body });
}

/** Starts `listen --ui`. Returns the receiver's URL, the page's URL and a function that stops it. */
async function listen() {
  const main = join(root, 'dist/cli/main.js');
  const child = spawn(process.execPath, [main, 'listen', '--ui'], {
    env: { ...process.env, SECURITY_EVENTS_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  const [url, page] = await new Promise((resolve, reject) => {
    child.on('exit', () => reject(new Error('`listen` ended')));
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /on (\S+)\nInspect requests at (\S+)\n/.exec(text);
      if (found !== null) resolve(found.slice(1));
    });
  });
  return { url, page, stop: () => child.kill() };
}

async function takeScreenshot(browser, address, { name, ...options }) {
  const page = await browser.newPage(options);
  await page.goto(address);
  const rows = page.locator('[role=option]');
  await rows.nth(REQUESTS.length - 1).waitFor();
  await rows.nth(1).click();
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}

const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 800 };
const { url, page, stop } = await listen();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
try {
  for (const request of REQUESTS) await post(url, request);
  for (const colorScheme of ['light', 'dark']) {
    const suffix = colorScheme === 'dark' ? '-dark' : '';
    const wide = { name: `inspector${suffix}`, colorScheme, viewport: WIDE };
    await takeScreenshot(browser, page, wide);
    const narrow = { name: `inspector-narrow${suffix}`, colorScheme, viewport: NARROW };
    await takeScreenshot(browser, page, narrow);
  }
} finally {
  await browser.close();
  stop();
}
