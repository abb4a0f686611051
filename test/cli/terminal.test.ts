import { EventEmitter, once } from 'node:events';
import { closeSync, openSync, statSync } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { printable } from '../../src/cli/printable.ts';
import { processTerminal } from '../../src/cli/process-terminal.ts';
import { endOf, paint, wantsColours } from '../../src/cli/terminal.ts';
import { fakeTerminal } from '../helpers/terminal.ts';

describe('colours', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ TERM: 'dumb' }, true, false],
  ])('of %j on a terminal (%j): %j', (environment, isTerminal, expected) => {
    expect(wantsColours(environment, isTerminal)).toBe(expected);
  });

  it('are written where the output has them, and nowhere else', () => {
    expect(paint(fakeTerminal({ hasColours: true }).output, 'red', 'no')).toBe(
      '\u001b[31mno\u001b[39m',
    );
    expect(paint(fakeTerminal().output, 'red', 'no')).toBe('no');
  });
});

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

  it('leaves letters, emoji, combining marks and tabs as they are', () => {
    const text = 'é e\u0301 日本語 🦊 \t שלום';
    expect(printable(text)).toBe(text);
  });
});

const hostWithTerminal = () => {
  const streams = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  };
  const fake = Object.assign(new EventEmitter(), { ...streams, env: { HOME: '/' } });
  return { fake, terminal: processTerminal(fake as unknown as NodeJS.Process) };
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
    expect([terminal.input, terminal.output, terminal.errors].map((end) => end.isTerminal)).toEqual(
      [false, false, false],
    );
    expect(terminal.output.columns).toBe(80);
    expect(terminal.environment['HOME']).toBe('/');
  });

  it('stops waiting for standard input when the command is to end', async () => {
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
  ])(
    'sees to what must not be left behind before a second signal ends it: %s, %s',
    (one, other) => {
      const { fake, terminal } = hostWithTerminal();
      const done: unknown[] = [];
      Object.assign(fake, { pid: 7, kill: (pid: number, name: string) => done.push([pid, name]) });
      terminal.beforeForcedEnd(() => done.push('work'));
      terminal.beforeForcedEnd(() => done.push('taken back'))();
      fake.emit(one, one);
      expect([endOf(terminal.signal), done]).toEqual(['interrupted', []]);
      fake.emit(other, other);
      // As Node does by itself, where nobody listens any more.
      expect(done).toEqual(['work', [7, other]]);
      expect(['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => fake.listenerCount(name))).toEqual([
        0, 0, 0,
      ]);
    },
  );

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'])(
    'ends at the first %s, and leaves the second to Node',
    (signal) => {
      const { fake, terminal } = hostWithTerminal();
      expect(endOf(terminal.signal)).toBe(undefined);
      fake.emit(signal);
      expect(endOf(terminal.signal)).toBe('interrupted');
      expect(['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => fake.listenerCount(name))).toEqual([
        0, 0, 0,
      ]);
    },
  );

  it('ends when who reads its output has left, and resolves what is still written', async () => {
    const { fake, terminal } = hostWithTerminal();
    const told = once(fake.stdout, 'error');
    fake.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await told;
    await terminal.output.write('more');
    expect(endOf(terminal.signal)).toBe('output-closed');
  });

  it('tells that its output could not be written, and why', async () => {
    const { fake } = hostWithTerminal();
    const full = Object.assign(new Error('write'), { code: 'ENOSPC', syscall: 'write' });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(full) });
    const host = Object.assign(fake, { stdout });
    const terminal = processTerminal(host as unknown as NodeJS.Process);
    expect(await runCommandLine(['secret'], terminal)).toBe(3);
    expect(endOf(terminal.signal)).toBe('output-failed');
    expect(String(fake.stderr.read())).toBe('security-events: standard output: the disk is full\n');
  });

  it.each([0, undefined])('of %s columns counts as one of 80', (columns) => {
    const { fake } = hostWithTerminal();
    Object.assign(fake.stderr, { isTTY: true, columns });
    expect(processTerminal(fake as unknown as NodeJS.Process).errors.columns).toBe(80);
  });

  it('knows which file is its input, and that a stream is none', () => {
    const { fake, terminal } = hostWithTerminal();
    expect(terminal.input.file()).toBe(undefined);
    const fd = openSync(import.meta.filename, 'r');
    Object.assign(fake.stdin, { fd });
    const { dev, ino } = statSync(import.meta.filename, { bigint: true });
    expect(terminal.input.file()).toMatchObject({ dev, ino });
    closeSync(fd);
    expect(terminal.input.file()).toBe(undefined);
  });

  it('is not ended by a standard error that nobody reads', async () => {
    const { fake, terminal } = hostWithTerminal();
    const told = once(fake.stderr, 'error');
    fake.stderr.destroy(new Error('write EPIPE'));
    await told;
    expect(endOf(terminal.signal)).toBe(undefined);
  });

  it('leaves nothing behind once it is released', async () => {
    const { fake, terminal } = hostWithTerminal();
    const input = terminal.input[Symbol.asyncIterator]();
    const waiting = input.next();
    terminal.release();
    await waiting.catch(() => undefined);
    expect(fake.stdin.destroyed).toBe(true);
    expect(fake.listenerCount('SIGINT') + fake.listenerCount('SIGTERM')).toBe(0);
  });
});
