import type * as Fs from 'node:fs/promises';
import { createServer } from 'node:net';
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { toComparablePath } from '../../../core/archive/disk-names.ts';
import { compress, packFiles } from '../../../core/archive/export.ts';
import type { LeftOut } from '../../../core/archive/folder.ts';
import { compareKeys, readArchive } from '../../../core/archive/read.ts';
import { findUnsafeName } from '../../../core/archive/unsafe-names.ts';
import { parsePhysicalPath } from '../../../core/files/paths.ts';
import { anyPath } from '../../support/any-path.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { unpack } from './archives.ts';

/** A folder on a disk that takes names for one which differ in case alone; `null` for none. */
let lenient: string | null = null;

/** What the disk does not let this process read; tests may run as root, who reads all. */
let unreadable: readonly string[] = [];
const DENIED = Object.assign(new Error('denied'), { code: 'EACCES', syscall: 'open' });

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof Fs>();
  /** Keeps the spelling of what is there already, as such disks do. */
  const find = (given: string): string => {
    if (lenient === null || !given.startsWith(`${lenient}/`)) return given;
    let place = lenient;
    for (const name of given.slice(lenient.length + 1).split('/')) {
      const same = (one: string) => toComparablePath(one) === toComparablePath(name);
      place = `${place}/${list(place).find(same) ?? name}`;
    }
    return place;
  };
  const mapped = Object.entries(real).map(([name, value]) => {
    if (typeof value !== 'function') return [name, value];
    const call = value as (...args: unknown[]) => unknown;
    const count = name === 'rename' ? 2 : 1;
    const reads = name.startsWith('read');
    return [
      name,
      (...args: unknown[]) =>
        reads && unreadable.includes(args[0] as string)
          ? Promise.reject(DENIED)
          : call(
              ...args.map((each, at) =>
                at < count && typeof each === 'string' ? find(each) : each,
              ),
            ),
    ];
  });
  return Object.fromEntries(mapped) as typeof Fs;
});

// A worker keeps modules for its next file: this one needs its own, on the disk above.
vi.resetModules();
const { isExportFolder, packFolder, writeFolder } = await import('../../../core/archive/folder.ts');
afterAll(() => void vi.resetModules());

const { readdirSync } = await import('node:fs');
function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

afterEach(() => {
  lenient = null;
  unreadable = [];
});

/** Writes memory into a folder, and says how many files it has and what was left out. */
async function write(
  folder: string,
  files: Readonly<Record<string, string>>,
  { userId = 'alice' as string | null, cut = false } = {},
): Promise<{ count: number; leftOut: Record<string, string> }> {
  const leftOut: Record<string, string> = {};
  const given = Object.entries(files)
    .map(([name, content]) => ({
      key: parsePhysicalPath(userId === null ? name : `users/${userId}/${name}`),
      content: Buffer.from(content),
    }))
    .sort((one, other) => compareKeys(one.key, other.key));
  const packed = await buffer(compress(packFiles(given, userId)));
  const open = () => {
    const stream = new PassThrough();
    stream.end(cut ? packed.subarray(0, packed.length - 20) : packed);
    return stream;
  };
  const archive = readArchive(open, { maxFileBytes: Infinity, now: Date.now() });
  const onLeftOut = ({ path: each, why }: LeftOut): void => void (leftOut[each] = why);
  const count = await writeFolder(folder, archive, { userId, onLeftOut, onFile: () => undefined });
  return { count, leftOut };
}

/** Reads a folder as an import does. */
async function read(folder: string, userId: string | null = 'alice') {
  const leftOut: Record<string, LeftOut> = {};
  const normalised: string[] = [];
  const chunks = packFolder(folder, {
    userId,
    onFile: () => undefined,
    onLeftOut: (file) => void (leftOut[file.path] = file),
    onNormalised: (each) => void normalised.push(each),
  });
  const entries = (await unpack(await buffer(compress(chunks)))).slice(1, -1);
  const prefix = userId === null ? '' : `users/${userId}/`;
  const files = Object.fromEntries(
    entries.map((entry) => [entry.path.slice(prefix.length), entry.content.toString()]),
  );
  const why = Object.fromEntries(Object.values(leftOut).map((each) => [each.path, each.why]));
  return { files, leftOut: why, normalised, all: Object.values(leftOut) };
}

const tree = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((each) => each !== '.memory-service.json')
    .sort();
};

describe('memory as a folder', () => {
  it('leaves out and names what a program in the folder would run, and removes what was written before', async () => {
    const folder = await temporaryDirectory();
    const files = {
      '.git/config': '[core]',
      HEAD: 'ref: x',
      'a.md': 'a',
      Makefile: 'all:',
      'AGENTS.md': 'b',
    };
    expect(await write(folder, files)).toEqual({
      count: 2,
      leftOut: {
        '.git/config': expect.stringMatching(/^\.git is hidden/),
        HEAD: expect.stringMatching(/git take the folder for a repository/),
        Makefile: expect.stringMatching(/task runner/),
      },
    });
    expect(await tree(folder)).toEqual(['AGENTS.md', 'a.md']);
    // As an export of before left it.
    await mkdir(path.join(folder, '.git'));
    await writeFile(path.join(folder, '.git/config'), '[core]');
    const marker = path.join(folder, '.memory-service.json');
    await writeFile(marker, JSON.stringify({ files: ['.git/config', 'a.md', 'AGENTS.md'] }));
    await write(folder, files);
    expect(await readdir(folder)).toEqual(['.memory-service.json', 'AGENTS.md', 'a.md']);
  });

  it.each([false, true])(
    'keeps names apart that a disk takes for one, and gives them back (on such a disk: %s)',
    async (isLenient) => {
      const folder = await temporaryDirectory();
      if (isLenient) lenient = folder;
      const files = {
        'Notes.md': 'N',
        'notes.md': 'n',
        'a/b': 'b',
        a: 'a',
        'A/b': 'B',
        'straße.md': '1',
        'strasse.md': '2',
      };
      expect(await write(folder, files)).toEqual({ count: 7, leftOut: {} });
      expect(await tree(folder)).toHaveLength(7);
      expect((await read(folder)).files).toEqual(files);
      // To a folder below, too, of which one user's files are imported.
      expect((await read(path.join(folder, 'a%2'))).files).toEqual({ b: 'b' });

      const { 'notes.md': _gone, ...left } = files;
      expect(await write(folder, left)).toEqual({ count: 6, leftOut: {} });
      expect((await read(folder)).files).toEqual(left);
      const { 'Notes.md': _first, ...other } = files;
      expect((await write(folder, other)).count).toBe(6);
      expect((await read(folder)).files).toEqual(other);
      expect(await tree(folder)).toContain('notes.md');
    },
  );

  it.each([false, true])(
    'has what memory has after any changes, on a disk that ignores case (%s) or not',
    async (isLenient) => {
      const name = fc.constantFrom(
        'a',
        'A',
        'b',
        'a/b',
        'A/b',
        'a/B',
        'a/b/c',
        'é',
        'É',
        'b.md',
        'B.md',
      );
      const state = fc.dictionary(name, fc.constantFrom('1', '2', '3'), { maxKeys: 8 });
      await fc.assert(
        fc.asyncProperty(fc.array(state, { minLength: 2, maxLength: 5 }), async (states) => {
          const folder = await temporaryDirectory();
          if (isLenient) lenient = folder;
          for (const files of states) {
            const { count } = await write(folder, files);
            expect(count).toBe(Object.keys(files).length);
            expect((await read(folder)).files).toEqual({ ...files });
            expect(await tree(folder)).toHaveLength(count);
          }
          lenient = null;
        }),
        { numRuns: process.env['MEMORY_TEST_RELEASE'] === undefined ? 25 : 500 },
      );
    },
  );

  it('takes every path that memory takes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anyPath, { minLength: 1, maxLength: 30 }), async (paths) => {
        const folder = await temporaryDirectory();
        const safe = paths.filter(
          (each) => findUnsafeName({ scope: 'u:alice', path: each }) === null,
        );
        const { count } = await write(
          folder,
          Object.fromEntries(paths.map((each) => [each, each])),
        );
        expect(count).toBe(safe.length);
        const { files, leftOut } = await read(folder);
        expect([files, leftOut]).toEqual([
          Object.fromEntries(safe.map((each) => [each, each])),
          {},
        ]);
      }),
      { numRuns: process.env['MEMORY_TEST_RELEASE'] === undefined ? 20 : 100 },
    );
  });

  it('keeps users apart whose ids differ in case', async () => {
    const folder = await temporaryDirectory();
    lenient = folder;
    const files = {
      'users/Alice/a.md': 'of Alice',
      'users/alice/a.md': 'of alice',
      'shared/a.md': 's',
    };
    expect((await write(folder, files, { userId: null })).count).toBe(3);
    expect((await read(folder, null)).files).toEqual(files);
    expect((await read(path.join(folder, 'users/Alice'), 'Alice')).files).toEqual({
      'a.md': 'of Alice',
    });
  });

  it('takes over a folder of before, whose names were not kept apart', async () => {
    const folder = await temporaryDirectory();
    lenient = folder;
    // On this disk the second became the first.
    await writeFile(path.join(folder, 'Notes.md'), 'n');
    const marker = path.join(folder, '.memory-service.json');
    await writeFile(marker, JSON.stringify({ files: ['Notes.md', 'notes.md'] }));
    const files = { 'Notes.md': 'N', 'notes.md': 'n' };
    expect((await write(folder, files)).count).toBe(2);
    expect((await read(folder)).files).toEqual(files);
  });

  it('does not touch files that are as they should be, nor the folder where the archive is cut off', async () => {
    const folder = await temporaryDirectory();
    const files = { 'a.md': 'a', 'b.md': 'b', 'A.md': 'A' };
    await write(folder, files);
    const times = async () =>
      await Promise.all(
        (await tree(folder)).map(async (each) => (await lstat(path.join(folder, each))).ino),
      );
    const before = await times();
    await write(folder, files);
    expect(await times()).toEqual(before);
    await expect(write(folder, { 'c.md': 'c' }, { cut: true })).rejects.toThrow(/cut off/);
    expect(await times()).toEqual(before);
    expect(await readdir(folder)).not.toContain('.memory-service.partial');
  });

  it('removes only what it wrote, and follows no link of any kind', async () => {
    const outside = await temporaryDirectory();
    await writeFile(path.join(outside, 'a.md'), 'mine');
    await writeFile(path.join(outside, 'marker'), JSON.stringify({ files: ['mine.md'] }));
    const folder = await temporaryDirectory();
    await write(folder, { 'a.md': 'a', 'b/a.md': 'b', 'c.md': 'c', 'd/e.md': 'e' });
    await writeFile(path.join(folder, 'mine.md'), 'mine');
    for (const name of ['a.md', 'b', 'c.md'])
      await rm(path.join(folder, name), { recursive: true });
    await symlink(path.join(outside, 'a.md'), path.join(folder, 'a.md'));
    await symlink(path.join(outside, 'a.md'), path.join(folder, 'c.md'));
    await symlink(outside, path.join(folder, 'b'));
    await symlink(outside, path.join(folder, '.memory-service.partial'));
    expect(await write(folder, { 'a.md': 'new', 'b/a.md': 'new' })).toEqual({
      count: 1,
      leftOut: { 'b/a.md': 'b is a link' },
    });
    expect(await tree(folder)).toEqual(['a.md', 'b', 'c.md', 'mine.md']);
    expect((await lstat(path.join(folder, 'a.md'))).isFile()).toBe(true);
    // A marker behind a link names nothing that may be removed.
    const marker = path.join(folder, '.memory-service.json');
    await rm(marker);
    await symlink(path.join(outside, 'marker'), marker);
    await write(folder, {});
    expect(await tree(folder)).toContain('mine.md');
    expect((await lstat(marker)).isFile()).toBe(true);
    expect((await readdir(outside)).sort()).toEqual(['a.md', 'marker']);
    expect(await readFile(path.join(outside, 'a.md'), 'utf8')).toBe('mine');
  });

  it('leaves out a file in whose place something else is', async () => {
    const folder = await temporaryDirectory();
    await write(folder, {});
    await mkdir(path.join(folder, 'a.md'));
    await writeFile(path.join(folder, 'a.md/mine'), 'mine');
    await writeFile(path.join(folder, 'b'), 'mine');
    expect(await write(folder, { 'a.md': 'a', 'b/c.md': 'c', 'd.md': 'd' })).toEqual({
      count: 1,
      leftOut: {
        'a.md': 'something that no export wrote is in its place',
        'b/c.md': 'something that no export wrote is in its place',
      },
    });
    expect(await tree(folder)).toEqual(['a.md/mine', 'b', 'd.md']);
  });

  it('is written into a new folder, an empty one, or one of an export of files', async () => {
    const folder = await temporaryDirectory();
    expect(await isExportFolder(path.join(folder, 'new'))).toBe(true);
    expect(await isExportFolder(folder)).toBe(true);
    await writeFile(path.join(folder, 'a.md'), 'mine');
    expect(await isExportFolder(folder)).toBe(false);
    await writeFile(path.join(folder, '.memory-service.json'), '{"files":[]}');
    expect(await isExportFolder(folder)).toBe(true);
    await writeFile(path.join(folder, '.memory-service.json'), '{"format":"git"}');
    expect(await isExportFolder(folder)).toBe(false);
  });
});

describe('a folder that is imported', () => {
  it('gets NFC names, of which two that are the same are one file', async () => {
    const folder = await temporaryDirectory();
    const [nfd, nfc] = ['Cafe\u0301.md', 'Café.md'];
    await writeFile(path.join(folder, nfd), 'nfd');
    await mkdir(path.join(folder, 'U\u0308'));
    await writeFile(path.join(folder, 'U\u0308/a.md'), 'a');
    expect(await read(folder)).toMatchObject({
      files: { [nfc]: 'nfd', 'Ü/a.md': 'a' },
      normalised: [nfd, 'U\u0308/a.md'],
      leftOut: {},
    });
    await writeFile(path.join(folder, nfc), 'nfc');
    expect(await read(folder)).toMatchObject({
      files: { [nfc]: 'nfc', 'Ü/a.md': 'a' },
      normalised: ['U\u0308/a.md'],
      leftOut: { [nfd]: `memory has the same name for it as for ${nfc}` },
    });
  });

  it('names all that is left out', async () => {
    const folder = await temporaryDirectory();
    const put = async (name: string, content: string | Buffer = 'x') => {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), content);
    };
    for (const name of [
      'a.md',
      '.hidden.md',
      '.git/config',
      '.git/HEAD',
      'con.md',
      '50%2.md',
      'Makefile',
    ]) {
      await put(name);
    }
    await put('picture.png', Buffer.from([0x89, 0x50, 0xff]));
    await writeFile(
      Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0x2e, 0x6d])]),
      'x',
    );
    await symlink('a.md', path.join(folder, 'link.md'));
    await symlink('/etc', path.join(folder, 'links'));
    const server = createServer();
    await new Promise<void>((done) => server.listen(path.join(folder, 'socket'), () => done()));
    const { files, leftOut, all } = await read(folder);
    server.close();
    expect(files).toEqual({ 'a.md': 'x', Makefile: 'x' });
    expect(leftOut).toEqual({
      '.hidden.md': 'it is hidden',
      '.git': 'it is hidden',
      'con.md': 'con.md is a name that Windows keeps for itself',
      '50%2.md': expect.stringMatching(/has none of/),
      'picture.png': 'it is not UTF-8 text',
      '\ufffd.m': 'its name is not UTF-8',
      'link.md': 'it is a link',
      links: 'it is a link',
      socket: 'it is not a plain file',
    });
    expect(
      all
        .filter(({ isHidden }) => isHidden)
        .map((each) => each.path)
        .sort(),
    ).toEqual(['.git', '.hidden.md']);
  });

  it('goes on where a file or a folder cannot be read', async () => {
    const folder = await temporaryDirectory();
    await mkdir(path.join(folder, 'closed'));
    await writeFile(path.join(folder, 'a.md'), 'a');
    await writeFile(path.join(folder, 'b.md'), 'b');
    unreadable = [path.join(folder, 'a.md'), path.join(folder, 'closed')];
    expect(await read(folder)).toMatchObject({
      files: { 'b.md': 'b' },
      leftOut: { 'a.md': 'it cannot be read (EACCES)', closed: 'it cannot be read (EACCES)' },
    });
  });

  it('does not read a file of many GB, and says what UTF-16 is', async () => {
    const folder = await temporaryDirectory();
    await writeFile(path.join(folder, 'a.md'), 'a');
    await writeFile(path.join(folder, 'huge.md'), '');
    // Its bytes take no place on the disk.
    await truncate(path.join(folder, 'huge.md'), 5 * 1024 ** 3);
    await writeFile(path.join(folder, 'windows.md'), Buffer.from('\uFEFFa', 'utf16le'));
    expect(await read(folder)).toMatchObject({
      files: { 'a.md': 'a' },
      leftOut: {
        'huge.md': 'it has 5368709120 bytes; a memory file has at most 67108864',
        'windows.md': 'it is UTF-16 text: save it as UTF-8',
      },
    });
  });
});
