import assert from 'node:assert/strict';
import type {
  AccessRecord,
  FileListing,
  FolderListing,
  ScopeKey,
} from '../../../../core/contracts/records.ts';
import type {
  FileFilter,
  FileSort,
  PageRequest,
  PageResult,
  Storage,
} from '../../../../core/contracts/storage.ts';
import { toPhysicalPath, toUserId } from '../../../../core/files/paths.ts';
import { accessRow, write } from '../../../support/rows.ts';
import { byBytes, everyPage, on, refusal, type StorageCase } from './storage-case.ts';

/** Lists of files, folders and users, page by page. */
export function listCases(): StorageCase[] {
  return [
    on(
      'lists all files by each sort and filter, page by page, as a plain search finds them',
      async (storage) => {
        const files = await fillFiles(storage);
        const filters: FileFilter[] = [
          {},
          ...[
            's',
            'shared/',
            'shared/a',
            'u',
            'users/',
            'users/a',
            'users/al_ce',
            'users/a/',
            'users/alice/a/2',
            'users/A/B',
            'x',
            'users/z/',
            'shared/zzz',
            'users/alice/é',
          ].map((prefix) => ({ prefix })),
          ...(['s', 'u:alice', 'u:nobody'] as const).map((scope) => ({ scope })),
          { scope: 'u:alice', prefix: 'users/alice/a' },
          { scope: 'u:alice', prefix: 'users/ali' },
          { scope: 'u:alice', prefix: 'shared/' },
          ...['ALICE', 'a/', 'É', 'é', '_', '%', "'", 'MD', 'users/', '字', 'x/nothing'].map(
            (contains) => ({ contains }),
          ),
          { contains: 'B', prefix: 'users/a', scope: 'u:a-b' },
        ];
        // A sample of the filters is enough for the other sorts.
        const sorted = new Set(filters.filter((_, index) => index % 8 === 0));
        for (const filter of filters) {
          const expected = files.filter((file) => matches(file, filter));
          for (const sort of sorted.has(filter) ? SORTS : (['path'] as const)) {
            for (const order of ['asc', 'desc'] as const) {
              // Several page sizes for the list without a filter, one for the others.
              const whole = sort === 'path' ? [1, 7, 500] : [3, 500];
              for (const limit of filter === filters[0] ? whole : [9]) {
                const listed = await everyPage(
                  (page) => storage.files.listAll(filter, { ...page, sort }),
                  limit,
                  order,
                );
                const label = JSON.stringify({ filter, sort, order, limit });
                assert.deepEqual(sortForSet(listed), sortForSet(expected), label);
                const compare = compareFiles(sort);
                for (const [index, file] of listed.entries()) {
                  const before = listed[index - 1];
                  if (before === undefined) continue;
                  const sign = compare(before, file);
                  assert.ok(order === 'asc' ? sign <= 0 : sign >= 0, label);
                }
              }
            }
          }
        }
      },
    ),

    on('rolls folders up as a plain count does, forwards and backwards', async (storage) => {
      const files = await fillFiles(storage);
      const folders = new Set([
        '',
        'users/',
        'shared/',
        'shared/nothing/',
        'users/nobody/',
        'users/z/',
        'shared/a',
      ]);
      for (const file of files) {
        const physical = toPhysicalPath(file);
        // A sample: the other scopes have similar files.
        if (!['s', 'u:a', 'u:A', 'u:al_ce', 'u:alice'].includes(file.scope)) continue;
        for (let at = physical.indexOf('/'); at >= 0; at = physical.indexOf('/', at + 1)) {
          folders.add(physical.slice(0, at + 1));
        }
      }
      for (const folder of folders) {
        const counted = folder === '' || folder.endsWith('/') ? rollUp(files, folder) : [];
        // The time of a root is when somebody last wrote or deleted a file in it.
        const withoutTime = (entries: readonly object[]) =>
          folder === ''
            ? entries.map((entry) => ({
                ...('folder' in entry ? (entry.folder as object) : {}),
                updatedAt: 0,
              }))
            : entries;
        const expected = withoutTime(counted);
        for (const order of ['asc', 'desc'] as const) {
          for (const limit of [1, 500]) {
            const listed = await everyPage(
              (page) => storage.files.listFolder(folder, page),
              limit,
              order,
            );
            assert.deepEqual(
              withoutTime(listed),
              order === 'asc' ? expected : [...expected].reverse(),
              JSON.stringify({ folder, order, limit }),
            );
          }
        }
      }
    }),

    on('lists the users that have files', async (storage) => {
      const files = await fillFiles(storage);
      await storage.log.append({ access: [accessRow('u:only-reads')], events: [] });
      const users = new Map<string, FileListing[]>();
      for (const file of files) {
        const userId = toUserId(file.scope);
        if (userId !== null) users.set(userId, [...(users.get(userId) ?? []), file]);
      }
      for (const contains of [null, 'A', '-', 'nobody', 'lic']) {
        const expected = [...users.keys()]
          .filter((userId) => userId.toLowerCase().includes((contains ?? '').toLowerCase()))
          .sort(byBytes);
        for (const order of ['asc', 'desc'] as const) {
          const listed = await everyPage(
            (page) => storage.files.listUsers({ contains }, page),
            2,
            order,
          );
          const ids = listed.map(({ userId }) => userId);
          assert.deepEqual(ids, order === 'asc' ? expected : [...expected].reverse());
        }
      }
      for (const user of await everyPage((page) => storage.files.listUsers({}, page), 500)) {
        const own = users.get(user.userId) ?? assert.fail(`${user.userId} has no files.`);
        assert.equal(user.files, own.length);
        assert.equal(
          user.bytes,
          own.reduce((sum, file) => sum + file.size, 0),
        );
        const scope = `u:${user.userId}` as const;
        const revisions = await everyPage((page) => storage.revisions.list({ scope }, page), 500);
        assert.equal(user.revisions, revisions.length);
        assert.equal(user.lastWriteAt, revisions.at(-1)?.at);
        assert.equal(user.historyHash, revisions.at(-1)?.chainHash);
        const shown = await everyPage(
          (page) => storage.log.listAccess({ scope, actions: ['read', 'find'] }, page),
          500,
        );
        const reads = shown.filter(({ action }) => action === 'read');
        const lastOf = (rows: readonly AccessRecord[]) =>
          rows.length === 0 ? null : Math.max(...rows.map(({ at }) => at));
        assert.equal(user.reads, reads.length);
        assert.equal(user.lastReadAt, lastOf(reads));
        assert.equal(user.lastShownAt, lastOf(shown));
      }
    }),

    on('lists the users whose memory is old, and was not shown to an agent', async (storage) => {
      const [old, young] = [1_700_000_000_000, 1_700_000_500_000];
      const shown = young + 1_000;
      const rows: AccessRecord[] = [];
      for (const [userId, at, actor] of [
        ['dreamed', old, 'dream-agent'],
        ['filed', old, 'filing-agent'],
        ['new', young, null],
        ['played', old, 'playground'],
        ['unused', old, null],
        ['used', old, 'agent'],
      ] as const) {
        const scope = `u:${userId}` as const;
        await write(storage, { scope, path: 'a.md' }, 'x', { at });
        // A file that is younger, too: the oldest one counts.
        await write(storage, { scope, path: 'b.md' }, 'x', { at: young });
        for (const action of ['read', 'find'] as const) {
          const row = { fileNo: 1, path: 'a.md', at: shown, actor: actor ?? '', action };
          if (actor !== null) rows.push(accessRow(scope, { ...row, rank: 1 }));
        }
      }
      await storage.log.append({ access: rows, events: [] });
      const list = async (filter: Parameters<typeof storage.files.listUsers>[0]) =>
        (await everyPage((page) => storage.files.listUsers(filter, page), 2)).map(
          ({ userId, lastShownAt }) => [userId, lastShownAt],
        );
      const unused = ['dreamed', 'filed', 'played', 'unused'].map((userId) => [userId, null]);
      const notShownSince = shown;
      assert.deepEqual(await list({ notShownSince, existsSince: young }), unused);
      const all = [...unused, ['new', null]].sort(([a], [b]) => byBytes(a as string, b as string));
      assert.deepEqual(await list({ notShownSince }), all);
      assert.deepEqual(await list({ notShownSince, existsSince: young, contains: 'play' }), [
        ['played', null],
      ]);
      const later = (await list({ notShownSince: shown + 1 })).length;
      assert.equal(later, 6);
      // The reads themselves are counted, whoever reads.
      const [dreamed] = await everyPage((page) => storage.files.listUsers({}, page), 1);
      assert.deepEqual([dreamed?.reads, dreamed?.lastReadAt], [1, shown]);
    }),

    on('skips and repeats nothing while files come and go between the pages', async (storage) => {
      const files = await fillFiles(storage);
      const seen: string[] = [];
      let round = 0;
      for (let after: PageRequest['after'] = null; ;) {
        const page: PageResult<FileListing> = await storage.files.listAll(
          {},
          { limit: 5, order: 'asc', after, sort: 'path' },
        );
        seen.push(...page.items.map(toPhysicalPath));
        if (page.next === null) break;
        assert.ok(round < 200, 'The list does not end.');
        after = page.next;
        round += 1;
        await write(storage, { scope: 'u:alice', path: `new-${round}` }, 'x');
        await write(storage, { scope: 's', path: `0-${round}` }, 'x');
      }
      assert.equal(new Set(seen).size, seen.length);
      for (const file of files) assert.ok(seen.includes(toPhysicalPath(file)));
    }),

    on('refuses a page key of another shape', async (storage) => {
      await fillFiles(storage);
      const page = { limit: 5, order: 'asc' } as const;
      for (const after of [[1], ['x', 'y', 'z'], [], [null], [{}]] as unknown as string[][]) {
        for (const call of [
          storage.files.listAll({}, { ...page, sort: 'path', after }),
          storage.files.listAll({}, { ...page, sort: 'size', after }),
          storage.files.listUsers({}, { ...page, after }),
          storage.files.listFolder('shared/', { ...page, after }),
          storage.revisions.list({}, { ...page, after }),
          storage.log.listAccess({}, { ...page, after }),
          storage.audit.list({}, { ...page, after }),
        ]) {
          assert.equal((await refusal(call)).code, 'INVALID_CURSOR');
        }
      }
      assert.equal(
        (await refusal(storage.revisions.list({}, { ...page, after: ['not an id'] }))).code,
        'INVALID_CURSOR',
      );
    }),
  ];
}

const SORTS: readonly FileSort[] = ['path', 'updatedAt', 'size', 'reads', 'writes'];

const LISTED_SCOPES: readonly ScopeKey[] = [
  's',
  'u:a',
  'u:A',
  'u:a-b',
  'u:a.b',
  'u:ab',
  'u:al_ce',
  'u:alice',
  'u:alicia',
  'u:z',
];
const LISTED_PATHS = [
  'a',
  'a.md',
  'a-b',
  'a/1',
  'a/2/x',
  'a/2/y',
  'a0',
  'B.md',
  'deep/er/and/deeper.md',
  'deep/x',
  'é/1',
  'Zoë.md',
  '漢/字',
  '😀',
  'a b/c d.md',
  'under_score',
  'dir./x'.replace('.', ''),
  'index.md',
];

/** Dozens of files in several scopes with ties in every sort; some are deleted, some were read. */
async function fillFiles(storage: Storage): Promise<FileListing[]> {
  const keys = LISTED_SCOPES.flatMap((scope, place) =>
    LISTED_PATHS.filter((_, index) => (index + place) % 3 !== 0).map((path) => ({ scope, path })),
  );
  await Promise.all(
    keys.map((key, index) =>
      write(storage, key, 'x'.repeat(index % 5), { at: 1_700_000_000_000 + (index % 11) * 1_000 }),
    ),
  );
  await Promise.all(
    keys
      .filter((_, index) => index % 4 === 0)
      .map((key, index) => write(storage, key, 'rewritten', { at: 1_700_000_100_000 + index })),
  );
  for (const [index, key] of keys.entries()) {
    if (index % 9 === 0 || key.scope === 'u:z')
      await write(storage, key, null, { at: 1_700_000_200_000 });
  }
  const files: FileListing[] = [];
  const access: AccessRecord[] = [];
  for (const [index, key] of keys.entries()) {
    const file = (await storage.files.get(key)) ?? assert.fail('A written file was not found.');
    const reads = index % 4;
    const at = 1_700_000_300_000 + index;
    for (let read = 0; read < reads; read += 1) {
      access.push(accessRow(key.scope, { fileNo: file.fileNo, path: key.path, at: at + read }));
    }
    if (index % 5 === 0) {
      const found = { action: 'find', at: at + 1_000, rank: 1 } as const;
      access.push(accessRow(key.scope, { fileNo: file.fileNo, path: key.path, ...found }));
    }
    const { content, ...record } = file;
    if (content === null) continue;
    files.push({ ...record, reads, lastReadAt: reads === 0 ? null : at + reads - 1 });
  }
  await storage.log.append({ access, events: [] });
  return files;
}

function compareFiles(sort: FileSort): (left: FileListing, right: FileListing) => number {
  const byPlace = (left: FileListing, right: FileListing) =>
    byBytes(left.scope, right.scope) || byBytes(left.path, right.path);
  if (sort === 'path') return byPlace;
  return (left, right) => left[sort] - right[sort];
}

function matches(file: FileListing, filter: FileFilter): boolean {
  const physical = toPhysicalPath(file);
  const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return (
    physical.startsWith(filter.prefix ?? '') &&
    (filter.scope === undefined || filter.scope === null || file.scope === filter.scope) &&
    lower(physical).includes(lower(filter.contains ?? ''))
  );
}

function sortForSet(files: readonly FileListing[]): FileListing[] {
  return [...files].sort(compareFiles('path'));
}

function rollUp(
  files: readonly FileListing[],
  folder: string,
): ({ folder: FolderListing } | { file: FileListing })[] {
  const entries = new Map<string, { folder: FolderListing } | { file: FileListing }>();
  for (const file of files) {
    const physical = toPhysicalPath(file);
    if (!physical.startsWith(folder)) continue;
    const slash = physical.indexOf('/', folder.length);
    if (slash < 0) {
      entries.set(physical.slice(folder.length), { file });
      continue;
    }
    const path = physical.slice(0, slash + 1);
    const entry = entries.get(path.slice(folder.length));
    const sums =
      entry !== undefined && 'folder' in entry
        ? entry.folder
        : { files: 0, bytes: 0, updatedAt: 0 };
    entries.set(path.slice(folder.length), {
      folder: {
        path,
        files: sums.files + 1,
        bytes: sums.bytes + file.size,
        updatedAt: Math.max(sums.updatedAt, file.updatedAt),
      },
    });
  }
  // Users are sorted by id without the slash, other folders by name with it.
  const name = (entry: string) => (folder === 'users/' ? entry.slice(0, -1) : entry);
  return [...entries]
    .sort(([left], [right]) => byBytes(name(left), name(right)))
    .map(([, entry]) => entry);
}
