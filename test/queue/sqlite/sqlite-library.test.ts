/** Which SQLite is used: Node's own, the optional peer, or none. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadSqlite } from '../../../src/queue/sqlite/worker/sqlite-library.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';

/** A module like `node:sqlite` of that version. */
const moduleOf = (version: string): object => ({
  DatabaseSync: class {
    prepare() {
      return { get: () => ({ version }) };
    }
    close() {}
  },
});

/** As if Node had this SQLite. */
function stubBuiltin(load: () => object | undefined): void {
  const spy = vi.spyOn(process, 'getBuiltinModule').mockImplementation((name: string) => {
    expect(name).toBe('node:sqlite');
    return load();
  });
  onTestFinished(() => spy.mockRestore());
}

const INSTALL = '(`npm install @photostructure/sqlite@1`)';

describe('the SQLite of a queue', () => {
  test.each(['3.51.3', '3.52.0', '4.0.0'])('is that of Node when its version is %s', (version) => {
    const builtin = moduleOf(version);
    stubBuiltin(() => builtin);
    expect(loadSqlite(null)).toBe(builtin);
  });

  test.each([undefined, '3.51.2', '3.50.4', '3.9.0', '2.99.99'])(
    'is the peer when that of Node is %s, and its error says what to install',
    (version) => {
      stubBuiltin(() => (version === undefined ? undefined : moduleOf(version)));
      expect(() => loadSqlite(null)).toThrow(
        expect.objectContaining({
          code: 'ERR_PEER_MISSING',
          message: `@photostructure/sqlite ${INSTALL}: Node ${process.versions.node} has no SQLite 3.51.3`,
        }),
      );
    },
  );

  test('is not a peer that is too old or that cannot be loaded', () => {
    stubBuiltin(() => undefined);
    const folder = temporaryFolder();
    const old = join(folder, 'old.cjs');
    const broken = join(folder, 'broken.cjs');
    const body = "prepare() { return { get: () => ({ version: '3.50.0' }) }; } close() {}";
    writeFileSync(old, `exports.DatabaseSync = class { ${body} };`);
    writeFileSync(broken, "throw new Error('no such binary');");
    const code = 'ERR_PEER_MISSING';
    const nor = expect.stringContaining('the installed peer has an older one');
    expect(() => loadSqlite(old)).toThrow(expect.objectContaining({ code, message: nor }));
    const cause = expect.objectContaining({ message: 'no such binary' });
    expect(() => loadSqlite(broken)).toThrow(expect.objectContaining({ code, cause }));
  });

  test('is loaded without its ExperimentalWarning, and other warnings come through', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    stubBuiltin(() => {
      process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning');
      process.emitWarning('something else', 'DeprecationWarning');
      return moduleOf('3.53.0');
    });
    loadSqlite(null);
    expect(warn.mock.calls).toEqual([['something else', 'DeprecationWarning']]);
    process.emitWarning('later', 'ExperimentalWarning');
    expect(warn.mock.calls).toHaveLength(2);
  });
});
