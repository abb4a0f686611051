/** An inspector without a receiver, and the work of a browser that scrolls through its page. */
import http from 'node:http';
import type { Page } from 'playwright-core';
import { valueEntry } from '../../src/cli/inspector/entries.ts';
import { Inspector } from '../../src/cli/inspector.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { sampleMessage } from '../../src/testing/index.ts';
import { listenOn } from '../helpers/servers.ts';

/** A page over an inspector that the test adds entries to. */
export async function serve(): Promise<{ readonly inspector: Inspector; readonly url: string }> {
  const inspector = new Inspector({ clock: systemClock, secrets: [] });
  const server = http.createServer((request, response) => void inspector.handle(request, response));
  const port = await listenOn(server);
  const url = inspector.publishAt(`http://127.0.0.1:${port}/`, { source: 'test', hint: 'none' });
  return { inspector, url };
}

const ENTRY = valueEntry({ file: 'f', line: 1, value: [sampleMessage()], text: '[]' }, 0);
export const entryOf = (line: number) => {
  const title = `Attack ${line}`;
  const messages = ENTRY.messages.map((message) => ({ ...message, title }));
  return { ...ENTRY, label: `line ${line}`, title, messages };
};

export const FRAMES = 120;

interface Scrolling {
  /** Maximum number of rows made for a frame. */
  readonly rows: number;
  /** Maximum number of elements of the page in a frame. */
  readonly elements: number;
  readonly layouts: number;
  /** CPU time of the page's thread for a frame: unlike the duration, it stands still while other programs run. */
  readonly cpuMs: number;
}

/** Scrolls the list by 5000 pixels in each of `FRAMES` frames. */
export async function scroll(page: Page): Promise<Scrolling> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const measure = async (name: string): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  };
  const [layouts, seconds] = [await measure('LayoutCount'), await measure('TaskDuration')];
  const work = await page.evaluate<Pick<Scrolling, 'rows' | 'elements'>>(`new Promise((resolve) => {
    const list = document.getElementById('list');
    let frame = 0;
    let made = 0;
    let [rows, elements] = [0, 0];
    new MutationObserver((records) => {
      for (const { addedNodes } of records) made += addedNodes.length;
    }).observe(document.getElementById('rows'), { childList: true });
    const step = () => {
      rows = Math.max(rows, made);
      elements = Math.max(elements, document.getElementsByTagName('*').length);
      made = 0;
      frame += 1;
      list.scrollTop += 5000;
      if (frame <= ${FRAMES}) requestAnimationFrame(step);
      else resolve({ rows, elements });
    };
    requestAnimationFrame(step);
  })`);
  const cpuMs = (((await measure('TaskDuration')) - seconds) * 1000) / FRAMES;
  return { ...work, cpuMs, layouts: (await measure('LayoutCount')) - layouts };
}
