/** Starts `listen --ui`, and reads the entries of its page as the page's script does. */
import http from 'node:http';
import { onTestFinished } from 'vitest';
import { startCommand } from '../helpers/terminal.ts';

export const SECRET = 'secret-of-the-test';

/** Starts `listen --ui`. Returns the URLs of the receiver and of its page. */
export async function listen(...words: string[]) {
  const given = ['listen', '--port', '0', '--ui', ...words];
  const command = startCommand(given, { environment: { SECURITY_EVENTS_SECRET: SECRET } });
  const [, page = ''] = await command.output(/(http\S+_inspector\/[^/]+\/)/);
  return { page, url: new URL('/', page).href };
}

export type Shown = Readonly<Record<string, unknown>> & {
  readonly issues: readonly object[];
  readonly messages: readonly Readonly<Record<string, unknown>>[];
};

/** Reads a page's stream of server-sent events. */
export function stream(page: string, headers: http.OutgoingHttpHeaders = {}) {
  let text = '';
  let rest = '';
  const read: Shown[] = [];
  let look: (() => void) | undefined;
  const request = http.get(`${page}events`, { agent: false, headers }, (response) => {
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const events = (rest + chunk).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const [, json] = /^id: .*\ndata: (.*)$/.exec(event) ?? [];
        if (json !== undefined) read.push(JSON.parse(json) as Shown);
      }
      look?.();
    });
  });
  request.on('error', () => undefined);
  onTestFinished(() => void request.destroy());
  const until = (isDone: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      look = () => {
        if (isDone()) resolve();
      };
      look();
    });
  return {
    text: () => text,
    entries: async (count: number) => {
      await until(() => read.length >= count);
      return read;
    },
    has: (part: string) => until(() => text.includes(part)),
  };
}

export async function first(page: string): Promise<Shown> {
  const [entry] = await stream(page).entries(1);
  return entry as Shown;
}
