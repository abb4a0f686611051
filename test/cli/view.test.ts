import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { valueEntry } from '../../src/cli/inspector/entries.ts';
import { Inspector } from '../../src/cli/inspector.ts';
import type { TerminalClock } from '../../src/cli/terminal.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { deferred } from '../../src/runtime/deferred.ts';
import { sampleMessage, sampleMessageV1, sampleRecord } from '../../src/testing/index.ts';
import { post } from '../helpers/http.ts';
import { temporaryFile } from '../helpers/temporary-files.ts';
import { outcome, runCommand, startCommand } from '../helpers/terminal.ts';
import { first, stream } from './entry-stream.ts';

async function view(file: string, clock: TerminalClock = systemClock): Promise<string> {
  const command = startCommand(['view', file], { clock });
  const [, page = ''] = await command.output(/Inspect .* at (\S+)/);
  return page;
}

/** A clock whose sleeps last until the test ends them: each is a pause between two polls of a file. */
function pollingClock() {
  let polls = deferred<() => void>();
  const wake = async (): Promise<void> => {
    const end = await polls.promise;
    polls = deferred();
    end();
  };
  const sleep = (_: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      signal?.addEventListener('abort', () => resolve());
      polls.resolve(resolve);
    });
  /** Lets the command look at the file so many times, and resolves when it pauses again. */
  const poll = async (times = 1): Promise<void> => {
    for (let count = 0; count < times; count += 1) await wake();
    await polls.promise;
  };
  return { poll, clock: { ...systemClock, sleep } };
}

const SHAPE = 'an object with one of the keys `svc_payload_type`, `message_type`, `event_name`';

const fileWith = (text: string): string => temporaryFile(text, 'events.ndjson');

describe('view', () => {
  it.each([
    ['gone.ndjson', 'no such file or directory'],
    ['.', 'is a directory'],
  ])('prints no address of a page for %s: %s', async (path, message) => {
    expect(await runCommand(['view', path])).toEqual(
      outcome(3, '', `security-events: ${path}: ${message}\n`),
    );
  });

  it('names the options of a port that is in use', async () => {
    const file = fileWith('{}\n');
    const { port } = new URL(await view(file));
    const message = `cannot listen on 127.0.0.1 port ${port}: address already in use`;
    const hint = 'Use --port N for another port (0 picks a free one).';
    expect(await runCommand(['view', file, '--port', port])).toEqual(
      outcome(3, '', `security-events: ${message}\n${hint}\n`),
    );
  });

  it('shows log lines, messages, bodies and lines of listen --json', async () => {
    const values = [
      { ...sampleRecord(), level: 30 },
      sampleMessage('security_response'),
      [sampleMessage(), sampleMessageV1('pulse'), sampleRecord()],
      { event: 'message', request: 1, message: sampleMessage('test') },
      { event_name: 'svc.ev0.threat.attack' },
      42,
    ];
    const page = await view(fileWith(values.map((value) => `${JSON.stringify(value)}\n`).join('')));
    const found = await stream(page).entries(values.length);
    expect(found.map(({ verdict, subtitle }) => [verdict, subtitle])).toEqual([
      ['valid', 'shop-1 · threat.attack'],
      ['valid', 'shop-1 · security_response'],
      ['valid', 'shop-1 · 3 messages'],
      ['valid', 'shop-1 · test'],
      ['invalid', 'threat.attack'],
      ['invalid', `the whole value: expected ${SHAPE}`],
    ]);
    expect(found[0]).toMatchObject({ label: 'line 1', title: 'sql_injection', curl: '' });
    const issue = { path: 'context', expected: 'an object', found: 'nothing' };
    expect(found[4]?.issues).toContainEqual(issue);
  });

  it.each([
    ['a foreign object', { a: 1 }, '', 'an object without them'],
    ['an element', [{ a: 1 }], '[0]', 'an object without them'],
    ['a number', 42, '', 'a number'],
  ])('says the same about %s as validate', async (_, value, place, found) => {
    const { issues } = valueEntry({ file: 'f', line: 1, value, text: '' }, 0);
    const path = place === '' ? 'the whole value' : '0';
    expect(issues).toEqual([{ path, expected: SHAPE, found }]);
    const { stdout } = await runCommand(['validate'], { input: JSON.stringify(value) });
    expect(stdout).toBe(`standard input:1${place}: expected ${SHAPE}, found ${found}\n`);
  });

  it.each([[0], [1001]])('shows no messages of a list with %i elements', (length) => {
    const value = Array.from({ length }, () => sampleMessage());
    const { issues } = valueEntry({ file: 'f', line: 1, value, text: '' }, 0);
    const expected = '1 to 1000 elements';
    expect(issues).toEqual([{ path: 'the whole value', expected, found: String(length) }]);
  });

  it('shows both times of a message that has two', () => {
    const sample = sampleMessage();
    const value = { ...sample, message: { ...sample.message, date_started: '2026-11-20' } };
    const [shown] = valueEntry({ file: 'f', line: 1, value, text: '' }, 0).messages;
    expect(shown?.when).toBe('2026-11-21T10:00:00.000+00:00');
    expect(shown?.rows).toContainEqual(['started', '2026-11-20']);
    expect(shown?.rows.map(([label]) => label)).not.toContain('occurred');
  });

  it.each([
    ['a message', { ...sampleMessage(), message_type: 7 }, 'message_type'],
    ['an array', [sampleMessage(), { ...sampleMessage(), message_type: 7 }], '1.message_type'],
  ])('names the field of %s that breaks the contract', (_, value, path) => {
    const { issues } = valueEntry({ file: 'f', line: 1, value, text: '' }, 0);
    expect(issues.map((issue) => issue.path)).toEqual([path]);
  });

  it('goes on after values with a hundred thousand levels', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const message = JSON.stringify(sampleMessage('test'));
    const page = await view(
      fileWith(`{"a":${deep}}\n${message.replace('{', `{"x":${deep},`)}\n${message}\n`),
    );
    const found = await stream(page).entries(3);
    // The second is a valid message if this Node's JSON.stringify has no limit.
    const verdicts = found.map(({ verdict }) => verdict);
    expect([verdicts[0], verdicts[2]]).toEqual(['invalid', 'valid']);
    expect(found[0]?.issues).toHaveLength(1);
  });

  it('shows the text of a value unchanged', async () => {
    const text = `[ ${JSON.stringify(sampleMessage()).replace('{', '{ "retry_count": 0.0e1, ')} ]`;
    expect(await first(await view(fileWith(`${text}\n`)))).toMatchObject({ body: text });
    const long = 'x'.repeat(2 ** 21);
    const { body, bodyLength } = valueEntry({ file: 'f', line: 1, value: 1, text: `${long}y` }, 0);
    expect([body, bodyLength]).toEqual([long, long.length + 1]);
  });

  it('follows the file as it grows, also when a line is written in parts', async () => {
    const line = JSON.stringify(sampleMessage());
    const file = fileWith(`${line}\n${line.slice(0, 50)}`);
    const { clock, poll } = pollingClock();
    const events = stream(await view(file, clock));
    await events.entries(1);
    await poll(3);
    appendFileSync(file, `${line.slice(50)}\n{"cut":\n{broken\n${line}`);
    await poll();
    await events.entries(5);
    appendFileSync(file, `\n${line}\n`);
    await poll();
    const found = await events.entries(6);
    expect(found.map(({ label }) => label)).toEqual([1, 2, 3, 4, 5, 6].map((at) => `line ${at}`));
    const verdicts = ['valid', 'valid', 'invalid', 'invalid', 'valid', 'valid'];
    expect(found.map(({ verdict }) => verdict)).toEqual(verdicts);
  });

  it('shows a truncated value, and a document over several lines', async () => {
    const text = JSON.stringify([sampleMessage()], null, 2);
    expect(await first(await view(fileWith(text)))).toMatchObject({ verdict: 'valid' });
    const file = fileWith(text.slice(0, -20));
    const events = stream(await view(file));
    const [cutOff] = await events.entries(1);
    appendFileSync(file, text.slice(-20));
    expect((await events.entries(2))[1]).toMatchObject({ verdict: 'valid' });
    const reason = expect.stringContaining('ends too early');
    expect(cutOff).toMatchObject({ verdict: 'invalid', reason });
  });

  it('starts again when the file is replaced', async () => {
    const line = `${JSON.stringify(sampleMessage())}\n`;
    const file = fileWith(line + line);
    const { clock, poll } = pollingClock();
    const events = stream(await view(file, clock));
    await events.entries(2);
    writeFileSync(`${file}.new`, line);
    rmSync(file);
    await poll(2);
    renameSync(`${file}.new`, file);
    await poll();
    await events.has('event: clear\n');
    expect(await events.entries(3)).toHaveLength(3);
  });

  it('waits for a file that is missing when it starts again', async () => {
    const line = `${JSON.stringify(sampleMessage())}\n`;
    const file = fileWith(line);
    const { clock, poll } = pollingClock();
    const events = stream(await view(file, clock));
    await events.entries(1);
    writeFileSync(`${file}.new`, line);
    renameSync(`${file}.new`, file);
    // The file is rotated a second time before the command opens it again.
    const cleared = vi.spyOn(Inspector.prototype, 'clear').mockImplementationOnce(() => {
      rmSync(file);
    });
    onTestFinished(() => cleared.mockRestore());
    await poll();
    writeFileSync(file, line);
    await poll();
    expect(await events.entries(2)).toHaveLength(2);
  });

  it('reads standard input, and stays when it ends', async () => {
    const command = startCommand(['view', '-'], { input: `${JSON.stringify(sampleMessage())}\n` });
    const [, page = ''] = await command.output(/Inspect standard input at (\S+)/);
    expect(await first(page)).toMatchObject({ verdict: 'valid', source: 'standard input' });
    const root = new URL('/', page).href;
    expect(await post(root, '', { method: 'GET' })).toMatchObject({ status: 404 });
    command.terminal.interrupt();
    expect(await command.ended).toBe(0);
  });
});
