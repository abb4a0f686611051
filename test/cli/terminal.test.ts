import { EventEmitter, once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { processTerminal } from '../../src/cli/process-terminal.ts';
import { endReasonOf, jsonLine, printable } from '../../src/cli/terminal.ts';
import { temporaryFile } from '../helpers/temporary-files.ts';

describe('printable', () => {
  it.each([
    ['a colour', 'a\u001b[31mb', 'a\\u001b[31mb'],
    ['a line end', 'a\r\nb', 'a\\u000d\\u000ab'],
    ['a C1 control', 'a\u009b31mb', 'a\\u009b31mb'],
    ['a text turned around', 'a\u202egnp.exe', 'a\\u202egnp.exe'],
    ['an isolate', '\u2066a\u2069', '\\u2066a\\u2069'],
    ['no width', 'a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
    ['a tag character', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a lone surrogate', 'a\ud800', 'a\\ud800'],
  ])('shows %s', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  it('does not change letters, emoji, combining marks and tabs', () => {
    const text = 'é e\u0301 日本語 🦊 \t שלום';
    expect(printable(text)).toBe(text);
  });
});

it('jsonLine escapes what a terminal would obey', () => {
  const value = { 'a\u009b': '\u202e\u200b\ufeff\n' };
  const line = jsonLine(value);
  expect(line).toBe('{"a\\u009b":"\\u202e\\u200b\\ufeff\\n"}\n');
  expect(JSON.parse(line)).toEqual(value);
});

const terminalOf = (host: object) => processTerminal(host as NodeJS.Process);

const hostWithTerminal = () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const fake = Object.assign(new EventEmitter(), { stdin, stdout, stderr, env: { HOME: '/' } });
  return { fake, terminal: terminalOf(fake) };
};

describe('the terminal of a process', () => {
  it('writes to the streams, reads from standard input, and is no terminal behind a pipe', async () => {
    const { fake, terminal } = hostWithTerminal();
    await terminal.output.write('result\n');
    await terminal.errors.write('progress\n');
    expect(String(fake.stdout.read())).toBe('result\n');
    expect(String(fake.stderr.read())).toBe('progress\n');
    fake.stdin.end('text');
    const read: string[] = [];
    for await (const chunk of terminal.input) read.push(String(chunk));
    expect(read).toEqual(['text']);
    expect(terminal).toMatchObject({
      input: { isTerminal: false },
      output: { isTerminal: false, columns: 80 },
      errors: { isTerminal: false },
      environment: { HOME: '/' },
    });
  });

  it('stops waiting for standard input when the command ends', async () => {
    const { fake, terminal } = hostWithTerminal();
    const reading = terminal.input[Symbol.asyncIterator]();
    fake.stdin.write('text');
    expect(String((await reading.next()).value)).toBe('text');
    const waiting = reading.next();
    fake.emit('SIGINT');
    await expect(waiting).rejects.toBe(terminal.signal.reason);
  });

  it.each([
    ['SIGINT', 'SIGINT'],
    ['SIGHUP', 'SIGTERM'],
  ])('is interrupted by %s, and exits at %s after it', (one, other) => {
    const { fake, terminal } = hostWithTerminal();
    const calls: unknown[] = [];
    Object.assign(fake, { exit: (code: number) => calls.push(code) });
    fake.emit(one);
    expect([endReasonOf(terminal.signal), calls]).toEqual(['interrupted', []]);
    fake.emit(other);
    expect(calls).toEqual([130]);
  });

  it('ends when the reader of its output leaves, and resolves pending writes', async () => {
    const { fake, terminal } = hostWithTerminal();
    const failed = once(fake.stdout, 'error');
    fake.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await failed;
    await terminal.output.write('more');
    expect(endReasonOf(terminal.signal)).toBe('output-closed');
  });

  it.each([
    ['', ['secret']],
    [', while it reads a file', ['validate', '{file}']],
  ])('reports why its output could not be written%s', async (_when, given) => {
    const file = temporaryFile('null\n'.repeat(100_000));
    const words = given.map((word) => word.replace('{file}', file));
    const { fake } = hostWithTerminal();
    const full = Object.assign(new Error('write'), { code: 'ENOSPC', syscall: 'write' });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(full) });
    const terminal = terminalOf(Object.assign(fake, { stdout }));
    expect(await runCommandLine(words, terminal)).toBe(3);
    expect(endReasonOf(terminal.signal)).toBe('output-failed');
    expect(String(fake.stderr.read())).toBe(
      'security-events: standard output: no space left on device\n',
    );
  });

  it.each([0, undefined])('of %s columns counts as one of 80', (columns) => {
    const { fake } = hostWithTerminal();
    Object.assign(fake.stderr, { isTTY: true, columns, hasColors: () => true });
    expect(terminalOf(fake).errors.columns).toBe(80);
  });

  it.each([{}, { NO_COLOR: '1' }])('asks the stream for colours, with %j', (env) => {
    const { fake } = hostWithTerminal();
    const asked: unknown[] = [];
    const hasColors = (given: object) => asked.push(given) > 0;
    Object.assign(fake.stdout, { isTTY: true, columns: 100, hasColors });
    const { output } = terminalOf(Object.assign(fake, { env }));
    expect(output).toMatchObject({ hasColours: true, isTerminal: true, columns: 100 });
    expect(asked).toEqual([env]);
  });

  it('continues when standard error is closed', async () => {
    const { fake, terminal } = hostWithTerminal();
    const failed = once(fake.stderr, 'error');
    fake.stderr.destroy(new Error('write EPIPE'));
    await failed;
    expect(endReasonOf(terminal.signal)).toBe(undefined);
  });

  it('removes its listeners when it is released', async () => {
    const { fake, terminal } = hostWithTerminal();
    const input = terminal.input[Symbol.asyncIterator]();
    const waiting = input.next();
    terminal.release();
    await waiting.catch(() => undefined);
    expect(fake.stdin.destroyed).toBe(true);
    expect(fake.listenerCount('SIGINT') + fake.listenerCount('SIGTERM')).toBe(0);
  });
});
