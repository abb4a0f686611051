/** The inspector's page in a real Chromium; one browser for all tests. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sampleMessage } from '../../src/testing/index.ts';
import { postSigned } from '../helpers/http.ts';
import { root } from '../helpers/package-files.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { listen, SECRET } from './entry-stream.ts';
import { entryOf, FRAMES, scroll, serve } from './inspector-page.ts';

// Its types need those of browsers, which would hide faults everywhere else.
const AXE = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);
const isRequired = process.env['REQUIRE_CHROMIUM'] === '1';
if (CHROMIUM === undefined) {
  console.warn('SKIPPED: the inspector in a browser. Install it: apt-get install chromium');
}

let browser: Browser;
beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  // A container has no sandbox for root.
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
});
afterAll(() => browser?.close());

/** Fails the test on an error or a violation of the policy. */
async function open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(errors).toEqual([]);
  });
  await page.goto(url);
  await page.getByText('Live').waitFor();
  return page;
}

const send = (url: string, what: string, secret = SECRET) =>
  postSigned(
    url,
    JSON.stringify([sampleMessage(undefined, { message: { humanized_description: what } })]),
    secret,
  );

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const options = (page: Page) => page.locator('[role=option]');

it.runIf(isRequired)('has a browser to be tested in', () => {
  expect(CHROMIUM).toBeDefined();
});

describe.skipIf(CHROMIUM === undefined)('the inspector in a browser', () => {
  it('shows a request as it arrives, and keeps the selected one', async () => {
    const { url, page: address } = await listen();
    const page = await open(address);
    await page.getByText('Nothing to show').waitFor();
    await send(url, 'The first attack');
    await page.getByRole('heading', { name: 'Verified' }).waitFor();
    await page.getByRole('heading', { name: 'The first attack' }).waitFor();
    await send(url, 'The second attack', 'another secret');
    await page.getByRole('heading', { name: 'Refused: the signature does not match' }).waitFor();
    await options(page).nth(1).click();
    await send(url, 'The third attack');
    await expect.poll(() => options(page).count()).toBe(3);
    expect(await page.getByRole('heading', { name: 'The first attack' }).count()).toBe(1);
    expect(await options(page).nth(2).getAttribute('aria-selected')).toBe('true');
  });

  it('shows a request within 200 ms of its POST', async () => {
    const start = performance.now();
    const { url, page: address } = await listen();
    const listeningMs = performance.now() - start;
    const page = await open(address);
    await page.evaluate(`
      new MutationObserver(() => requestAnimationFrame(() => (window.shownAt ??= Date.now())))
        .observe(document.getElementById('rows'), { childList: true })`);
    const showMs = async (number: number): Promise<number> => {
      await page.evaluate('window.shownAt = undefined');
      const sentAt = Date.now();
      await send(url, `Attack ${number}`);
      // The page's policy forbids the evaluation that waitForFunction needs.
      await expect.poll(() => page.evaluate('window.shownAt'), { timeout: 20_000 }).toBeDefined();
      return (await page.evaluate<number>('window.shownAt')) - sentAt;
    };
    // Other programs of the machine delay single requests, so the best of five medians counts.
    const medians: number[] = [];
    for (let round = 0; round < 5 && !medians.some((ms) => ms < 200); round += 1) {
      const timesMs: number[] = [];
      for (let number = 1; number <= 7; number += 1) timesMs.push(await showMs(7 * round + number));
      console.info(
        `listen was ready after ${listeningMs.toFixed()} ms; the rows appeared after ${timesMs.join(', ')} ms`,
      );
      medians.push(medianOf(timesMs));
    }
    expect(Math.min(...medians)).toBeLessThan(200);
  }, 60_000);

  it('inserts hostile values as text', async () => {
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const { url, page: address } = await listen();
    const page = await open(address);
    const message = sampleMessage(undefined, {
      message: {
        humanized_description: hostile,
        application_id: hostile,
        event_kind: hostile,
        event_url: 'javascript:alert(1)',
      },
    });
    const body = JSON.stringify([message, { ...message, retry_count: hostile, [hostile]: 1 }]);
    await postSigned(`${url}?${encodeURIComponent(hostile)}`, body, SECRET, { 'x-note': hostile });
    await page.getByRole('heading', { name: hostile, exact: true }).waitFor();
    expect(await page.locator('#detail img, #detail script, #detail a, #list img').count()).toBe(0);
    expect(await page.locator('script').count()).toBe(1);
    expect(await page.title()).toBe('Inspector · security-events');
    expect(await page.locator('#detail pre').allTextContents()).toContainEqual(
      expect.stringContaining('<script>'),
    );
  });

  it('shows the raw body beside a formatted one, and says where it is cut', async () => {
    const { url, page: address } = await listen();
    const page = await open(address);
    const raw = `[ {"retry_count": 0.0e1, "retry_count": 0} ]`;
    await postSigned(url, raw, 'another secret');
    await expect.poll(() => page.locator('#detail pre').allTextContents()).toContain(raw);
    const faults = JSON.stringify(Array.from({ length: 201 }, () => ({ a: 'x'.repeat(500) })));
    await postSigned(url, faults, SECRET);
    await page.getByText('The first 200 are shown.').waitFor();
    await page.getByRole('heading', { name: '201 contract issues' }).waitFor();
    await page.getByText(`The first 100000 of ${faults.length} characters are shown.`).waitFor();
    expect(await page.locator('#detail pre').allTextContents()).toEqual([faults.slice(0, 100_000)]);
  });

  it('filters, pauses and clears', async () => {
    const { url, page: address } = await listen();
    const page = await open(address);
    await send(url, 'Attack on the shop');
    await send(url, 'Attack on the blog', 'another secret');
    await expect.poll(() => options(page).count()).toBe(2);
    await page.getByLabel('Verdict').selectOption('refused');
    expect(await options(page).allTextContents()).toEqual([expect.stringContaining('the blog')]);
    await page.getByLabel('Verdict').selectOption('');
    await page.getByLabel('Search').fill('THE SHOP');
    expect(await options(page).allTextContents()).toEqual([expect.stringContaining('the shop')]);
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Type').selectOption('security_event');
    await page.getByLabel('Application').selectOption('shop-1');
    expect(await options(page).count()).toBe(2);
    await page.getByRole('button', { name: 'Pause' }).click();
    await send(url, 'Attack during the pause');
    await page.getByText('2 of 2 shown · 1 waiting').waitFor();
    expect(await options(page).count()).toBe(2);
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => options(page).count()).toBe(3);
    await page.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => options(page).count()).toBe(0);
    await page.reload();
    await page.getByText('Nothing to show').waitFor();
    // Also while the program gets no request: the page clears itself.
    await page.route('**/clear', (route) => route.fulfill({ status: 204 }));
    await send(url, 'Attack on the shop');
    await expect.poll(() => options(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Clear' }).click();
    expect(await options(page).count()).toBe(0);
  });

  it('copies a command that sends the same request, and sends it again', async () => {
    const target = await startReceiver();
    const { url, page: address } = await listen('--forward', target.url);
    const page = await open(address, { permissions: ['clipboard-read', 'clipboard-write'] });
    await send(url, "It's an attack");
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText(/answered 2\d\d after/).waitFor();
    expect(target.requests.map(({ body }) => String(body))).toHaveLength(2);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied.').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    await promisify(execFile)('sh', ['-c', command]);
    await postSigned(url, Buffer.from([0xff, 0x00, 0x27]), SECRET);
    await page.getByText('Raw body in base64').waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied.').waitFor();
    await promisify(execFile)('sh', ['-c', await page.evaluate('navigator.clipboard.readText()')]);
    await expect.poll(() => options(page).count()).toBe(4);
    const verdicts = page.getByRole('img', { name: 'refused' });
    expect([await verdicts.count(), target.requests.length]).toEqual([0, 3]);
    await target.close();
  });

  it('is used by keyboard', async () => {
    const { inspector, url } = await serve();
    const page = await open(url);
    for (let line = 1; line <= 30; line += 1) inspector.add(entryOf(line));
    await page.getByText('30 of 30 shown').waitFor();
    await page.getByLabel('Newest first').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('heading', { name: 'Attack 29', exact: true }).waitFor();
    await page.keyboard.press('End');
    await page.getByRole('heading', { name: 'Attack 1', exact: true }).waitFor();
    const active = await page.getByLabel('Newest first').getAttribute('aria-activedescendant');
    expect(await page.locator(`#${active}`).getAttribute('aria-posinset')).toBe('30');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowUp');
    await page.getByRole('heading', { name: 'Attack 30', exact: true }).waitFor();
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('detail');
  });

  it('scrolls through 10,000 requests with few elements', async () => {
    const { inspector, url } = await serve();
    const page = await open(url);
    for (let line = 1; line <= 10_000; line += 1) {
      inspector.add(entryOf(line));
      if (line % 1000 === 0) await page.getByText(`${line} of ${line} shown`).waitFor();
    }
    const { rows, elements, layouts, cpuMs } = await scroll(page);
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThan(40);
    expect(elements).toBeLessThan(400);
    expect(layouts).toBeLessThan(2 * FRAMES);
    // 30 frames a second, drawn in software.
    expect(cpuMs).toBeLessThan(34);
    await page.getByLabel('Newest first').focus();
    await page.keyboard.press('End');
    await page.getByRole('heading', { name: 'Attack 1', exact: true }).waitFor();
    // Rows that are being read stay where they are.
    const before = await options(page).allTextContents();
    inspector.add(entryOf(10_001));
    await page.getByText('10000 of 10000 shown').waitFor();
    await expect.poll(() => options(page).last().textContent()).toContain('Attack 2');
    expect(before.at(-2)).toContain('Attack 2');
    // It takes 7 s on a busy machine.
  }, 120_000);

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)('has no barrier that axe finds: %s, %i pixels wide', async (colorScheme, width) => {
    const { url, page: address } = await listen();
    // axe brings its own styles.
    const viewport = { width, height: 800 };
    const page = await open(address, { colorScheme, viewport, bypassCSP: true });
    await page.evaluate(AXE);
    const violations = async (): Promise<unknown> =>
      page.evaluate(`axe.run().then(({ passes, violations }) => [
        ...(passes.length > 5 ? [] : ['axe did not run']),
        ...violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
      ])`);
    expect(await violations()).toEqual([]);
    await send(url, 'An attack');
    await send(url, 'An attack', 'another secret');
    await postSigned(url, JSON.stringify([{ ...sampleMessage(), retry_count: 'two' }]), SECRET);
    await expect.poll(() => options(page).count()).toBe(3);
    expect(await violations()).toEqual([]);
    for (const index of [0, 1, 2]) {
      await options(page).nth(index).click();
      expect(await violations()).toEqual([]);
      if (width < 760) await page.getByRole('button', { name: 'Back' }).click();
    }
  });
});
