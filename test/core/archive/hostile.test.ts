import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { packEntry, type TarEntry } from '../../../core/archive/tar.ts';
import type { RevisionRecord } from '../../../core/contracts/records.ts';
import type { ErrorCode } from '../../../core/errors.ts';
import { chainStart, hashRow, linkHash } from '../../../core/history/chain.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { exportAll, importAll, pack, unpack } from './archives.ts';

let made: Promise<Buffer> | undefined;

/** Two files of two users, the second with several versions. */
const makeArchive = (): Promise<Buffer> => (made ??= writeArchive());

async function writeArchive(): Promise<Buffer> {
  const core = await openCore();
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'of alice\n' });
  for (const content of ['one\n', 'one\ntwo\n', 'one\ntwo\nthree\n']) {
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content, reason: 'said so' });
  }
  return await exportAll(core);
}

async function expectRefused(
  archive: Buffer,
  message: RegExp,
  { code = 'INVALID_ARCHIVE', core: given }: { code?: ErrorCode; core?: Core } = {},
): Promise<void> {
  const core = given ?? (await openCore());
  const error = await rejection(importAll(core, archive));
  expect(error).toMatchObject({ code });
  expect((error as Error).message).toMatch(message);
  await expectEmpty(core);
}

async function expectEmpty(core: Core): Promise<void> {
  const { items } = await core.storage.files.listUsers(
    {},
    { limit: 10, order: 'asc', after: null },
  );
  expect(items).toEqual([]);
  const page = { limit: 10, order: 'asc', after: null } as const;
  expect((await core.storage.audit.list({}, page)).items).toEqual([]);
}

const text = (path: string, content: string): TarEntry => ({ path, content: Buffer.from(content) });

function unpacksTo(archive: Buffer, tar: Buffer): boolean {
  try {
    return gunzipSync(archive).equals(tar);
  } catch {
    return false;
  }
}

/** A header of another kind, as `tar` writes links, devices and folders. */
function special(path: string, type: string): Buffer {
  const entry = packEntry({ path, content: Buffer.alloc(0) }, { modifiedAt: 0 });
  entry.write(type, 156, 'latin1');
  entry.write('        ', 148, 'latin1');
  let sum = 0;
  for (const byte of entry) sum += byte;
  entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return entry;
}

/** The archive with one of its entries replaced by others. */
async function changed(
  path: string,
  change: (content: string) => readonly (TarEntry | Buffer)[],
): Promise<Buffer> {
  const entries = await unpack(await makeArchive());
  expect(entries.map((entry) => entry.path)).toContain(path);
  return pack(
    entries.flatMap((entry) => (entry.path === path ? change(entry.content.toString()) : [entry])),
  );
}

const BOB = 'users/bob/b.md';
const HISTORY = `history/${BOB}/1.jsonl`;

/** The archive with one line of bob's history changed. */
const changedLine = (index: number, change: (line: Record<string, unknown>) => object) =>
  changed(HISTORY, (content) => {
    const lines = content.trimEnd().split('\n');
    lines[index] = JSON.stringify(
      change(JSON.parse(lines[index] ?? '') as Record<string, unknown>),
    );
    return [text(HISTORY, `${lines.join('\n')}\n`)];
  });

const CHAIN = 'chain/users/bob/1.jsonl';

/** Mallory's archive with a chain that is made again: anyone can do that who knows how. */
function withNewHashes(entries: readonly TarEntry[]): TarEntry[] {
  let head = chainStart('u:mallory', null);
  return entries.map((entry) => {
    const content = entry.content.toString();
    if (entry.path.startsWith('chain/')) {
      return text(entry.path, content.replace(/"head":"\w+"/, `"head":"${head}"`));
    }
    if (!entry.path.startsWith('history/')) return entry;
    const [first = '', ...lines] = content.trimEnd().split('\n');
    const rows = lines.toReversed().map((line) => {
      const row = JSON.parse(line) as RevisionRecord;
      const at = Date.parse(String(row.at));
      const previousHash = head;
      head = linkHash(head, hashRow({ ...row, at, scope: 'u:mallory', path: 'b.md' }));
      return JSON.stringify({ ...row, previousHash, chainHash: head });
    });
    return text(entry.path, [first, ...rows.reverse(), ''].join('\n'));
  });
}

describe('an archive that this service did not write', () => {
  it.each([
    '/etc/passwd',
    '../secrets.json',
    'users/../../a.md',
    'users/bob/../alice/a.md',
    'users/bob/./b.md',
    'users/bob//b.md',
    'users/bob/b\\..\\c.md',
    'users/bob/%2e%2e/c.md',
    'users/bob/\u0000b.md',
    'C:/b.md',
    'elsewhere/b.md',
    `users/bob/${'x'.repeat(600)}.md`,
  ])('is refused for the path %j', async (path) => {
    const refused = /is not the path of a memory file|goes on after its end/;
    await expectRefused(await changed(BOB, (content) => [text(path, content)]), refused);
  });

  it.each([
    ['a hard link', '1'],
    ['a symbolic link', '2'],
    ['a device', '3'],
    ['a folder', '5'],
    ['a named pipe', '6'],
    ['a long name of GNU tar', 'L'],
    ['a global header', 'g'],
  ])('is refused for %s', async (_what, type) => {
    const archive = await changed(BOB, (content) => [special(BOB, type), text(BOB, content)]);
    await expectRefused(archive, /is not a plain file/);
  });

  it('is refused where a file comes twice', async () => {
    const archive = await changed('users/alice/a.md', (content) => [
      text('users/alice/a.md', content),
      text('users/alice/a.md', content),
    ]);
    await expectRefused(archive, /not followed by its history/);
    const again = await changed('totals.json', (content) => [
      text('users/alice/z.md', 'again'),
      text('totals.json', content),
    ]);
    await expectRefused(again, /comes twice, or is not in the order/);
  });

  it('is refused wherever it is cut off', async () => {
    const archive = await makeArchive();
    const core = await openCore();
    for (const part of [0, 0.1, 0.5, 0.9, 0.999]) {
      const cut = archive.subarray(0, Math.floor(archive.length * part));
      await expectRefused(cut, /cut off|not gzip|does not start/, { core });
    }
    const tar = gunzipSync(archive);
    for (let blocks = 1; blocks < tar.length / 512; blocks += 1) {
      await expectRefused(gzipSync(tar.subarray(0, blocks * 512)), /cut off/, { core });
    }
  });

  it('is refused for damaged bytes', async () => {
    const archive = await makeArchive();
    const tar = gunzipSync(archive);
    const core = await openCore();
    let refused = 0;
    for (let at = 12; at < archive.length; at += 31) {
      const damaged = Buffer.from(archive);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      // Between two blocks of gzip are bits that mean nothing: with those the archive is whole.
      if (unpacksTo(damaged, tar)) continue;
      await expectRefused(damaged, /./, { core });
      refused += 1;
    }
    expect(refused).toBeGreaterThan(20);
    await expectRefused(Buffer.from('# not an archive\n'), /not gzip/);
  });

  it('is refused when it unpacks to far more than it has', async () => {
    const zeros = Buffer.alloc(1024 * 1024);
    const bomb = gzipSync(Buffer.concat(Array<Buffer>(200).fill(zeros)));
    const entries = await unpack(await makeArchive());
    // As further bytes of the archive, which an import has to read to its end.
    const [manifest] = entries as [TarEntry];
    await expectRefused(Buffer.concat([pack([manifest]), bomb]), /unpacks to too much|cut off/);
    const large = { path: 'users/bob/b.md', content: Buffer.alloc(300 * 1024, 'x') };
    await expectRefused(pack([manifest, large]), /at most 262144/, { code: 'PAYLOAD_TOO_LARGE' });
    const huge = { path: 'users/bob/b.md', content: Buffer.alloc(20 * 1024 * 1024, 'x') };
    await expectRefused(pack([manifest, huge]), /has 20971520 bytes/);
  });

  it('is refused when small steps of a history make a content grow without end', async () => {
    // Each step puts a megabyte into the one line, which packs to a few bytes.
    const steps = 20;
    const step = 1024 * 1024;
    const contents = Array.from({ length: steps + 1 }, (_, index) => 'x'.repeat(index * step));
    const toHash = (content: string) => createHash('sha256').update(content).digest('hex');
    const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;
    const lines = contents.slice(0, steps).map((after, index) => {
      const isOldest = index === steps - 1;
      const hunk = { start: 0, removed: after === '' ? 0 : 1, addedLines: 1 };
      const grown = { ...hunk, prefix: after.length, suffix: 0, text: 'x'.repeat(step) };
      return JSON.stringify({
        id: id(steps - index),
        version: steps - index,
        action: isOldest ? 'create' : 'update',
        actor: 'agent',
        reason: null,
        tool: null,
        toolCallId: null,
        traceId: null,
        runId: null,
        at: '2026-01-01T00:00:00.000Z',
        size: after.length,
        addedLines: 0,
        removedLines: 0,
        peerId: null,
        redacted: false,
        hash: toHash(after),
        contentSalt: null,
        contentSeal: null,
        previousHash: null,
        chainHash: null,
        existedBefore: !isOldest,
        existsAfter: true,
        keyframe: null,
        delta: isOldest ? null : { hunks: [grown] },
      });
    });
    const parts = lines.map((line, index) => {
      const head = { path: BOB, part: index + 1, last: index === steps - 1 };
      const file = { version: steps, createdAt: '2026-01-01T00:00:00.000Z', hash: toHash('') };
      const first = index === 0 ? { file: { ...file, chainRows: 0, chainBytes: 0 } } : {};
      const content = `${JSON.stringify({ ...head, ...first })}\n${line}\n`;
      return text(`history/${BOB}/${index + 1}.jsonl`, content);
    });
    const manifest = { format: 'memory-service', version: 1, userId: null, history: true };
    const archive = pack([
      text('manifest.json', JSON.stringify(manifest)),
      text(BOB, ''),
      ...parts,
      text('totals.json', JSON.stringify({ files: 1, deleted: 0, revisions: steps, bytes: 0 })),
    ]);
    expect(archive.length).toBeLessThan(64 * 1024);
    await expectRefused(archive, /unpacks to too much/);
  });

  it('is refused for another format version, and for a manifest that says otherwise', async () => {
    const manifest = (change: object) =>
      changed('manifest.json', (content) => [
        text('manifest.json', JSON.stringify({ ...(JSON.parse(content) as object), ...change })),
      ]);
    await expectRefused(
      await manifest({ version: 3 }),
      /format version 3.*reads the versions 1 and 2/,
    );
    await expectRefused(await manifest({ format: 'zip' }), /not one of a memory-service archive/);
    await expectRefused(await manifest({ userId: 'bob' }), /other memory than the manifest says/);
    await expectRefused(await manifest({ history: false }), /the manifest says there is none/);
    const totals = await changed('totals.json', (content) => [
      text('totals.json', content.replace('"revisions": 4', '"revisions": 5')),
    ]);
    await expectRefused(totals, /says 5 revisions; the archive holds 4/);
    await expectRefused(
      await changed('manifest.json', () => []),
      /does not start with manifest.json/,
    );
    await expectRefused(await changed('totals.json', () => []), /totals.json is missing/);
  });

  it('is refused when content and history disagree', async () => {
    const content = await changed(BOB, () => [text(BOB, 'one\ntwo\nfour\n')]);
    await expectRefused(content, /does not have the content that its history names/);
    await expectRefused(await changed(HISTORY, () => []), /not followed by its history/);
    const delta = await changedLine(1, (line) => ({ ...line, delta: { hunks: [] } }));
    await expectRefused(delta, /Version 2 .* does not have the content that it names/);
    const size = await changedLine(2, (line) => ({ ...line, size: 1 }));
    await expectRefused(size, /Version 2 .* does not have the content/);
    const version = await changedLine(2, (line) => ({ ...line, version: 7 }));
    await expectRefused(version, /Version 7 .* comes in the place of 2/);
    const born = await changedLine(3, (line) => ({ ...line, existedBefore: true, keyframe: '' }));
    await expectRefused(born, /existed before its first version/);
  });

  it.each([
    ['an id', { id: 'x' }, /malformed id/],
    ['a trace', { traceId: "'; drop table svc_file" }, /malformed id/],
    ['an empty trace', { traceId: '' }, /malformed id/],
    ['an actor', { actor: ' admin' }, /not valid/],
    ['a reason', { reason: 'a\u0000b' }, /not valid/],
    ['a tool', { tool: '../x' }, /malformed tool/],
    ['a time', { at: '2026-02-31T00:00:00.000Z' }, /not valid/],
    ['a time in the future', { at: '2999-01-01T00:00:00.000Z' }, /future/],
    ['an id of the future', { id: 'ffffffff-ffff-7000-8000-000000000000' }, /future/],
    ['an order', { id: '00000000-0000-7000-8000-000000000000' }, /is not older than/],
    ['a time before 1970', { at: '1969-12-31T23:59:59.999Z' }, /before 1970/],
    ['an id of another version', { id: '01900000-0000-4000-8000-000000000000' }, /malformed id/],
    ['a redaction of a content that is there', { redacted: true }, /is redacted, and has a hash/],
    ['a redaction before it', { redactedBefore: true }, /still has text|different things/],
    ['no hash', { hash: null }, /has no hash of its content/],
    ['a seal', { contentSeal: '0'.repeat(64) }, /lacks the hash or the salt/],
    ['a number', { addedLines: 2 ** 53 - 1 }, /not valid/],
    ['a member', { approved: true }, /not known/],
  ])('is refused for %s of a revision that no service writes', async (_what, change, message) => {
    await expectRefused(await changedLine(1, (line) => ({ ...line, ...change })), message);
  });

  it.each<[string, (content: string) => string, RegExp]>([
    ['a reason', (history) => history.replace('said so', 'said'), /Version 3 .* was changed/],
    [
      'a salt',
      (history) =>
        history.replace(/(?<="contentSalt":")\w/, (digit) => (digit === '0' ? '1' : '0')),
      /was changed/,
    ],
    [
      'a part of the hashes',
      (history) => history.replace(/"contentSalt":"\w+"/, '"contentSalt":null'),
      /was changed/,
    ],
    [
      'no hashes at all',
      (history) => history.replace(/"(contentSalt|previousHash|chainHash)":"\w+"/g, '"$1":null'),
      /does not lead to its head/,
    ],
  ])('is refused for %s that was changed since', async (_what, change, message) => {
    const archive = await changed(HISTORY, (content) => [text(HISTORY, change(content))]);
    await expectRefused(archive, message);
  });

  it('is refused without its oldest revision, or with another head', async () => {
    const entries = await unpack(await makeArchive());
    const cut = entries.map(({ path, content }) => {
      const lines = content.toString().split('\n');
      if (path === HISTORY) return text(path, [...lines.slice(0, 3), ''].join('\n'));
      if (path !== 'totals.json') return { path, content };
      return text(path, content.toString().replace('"revisions": 4', '"revisions": 3'));
    });
    await expectRefused(pack(cut), /history of "users\/bob\/" does not lead to its head/);
    const change = (from: RegExp | string, to: string) =>
      changed(CHAIN, (content) => [text(CHAIN, content.replace(from, to))]);
    const anotherHead = `"head":"${'0'.repeat(64)}"`;
    await expectRefused(await change(/"head":"\w+"/, anotherHead), /does not lead to its head/);
    await expectRefused(await change(/"head":"\w+"/, '"head":null'), /does not lead to its head/);
    await expectRefused(await change('"after":null', '"after":"x"'), /does not lead to its head/);
    await expectRefused(await change('users/bob/', 'users/alice/'), /out of place/);
    await expectRefused(await change('"last":true', '"last":false'), /chain .* is missing/);
    await expectRefused(await changed(CHAIN, () => []), /chain of "users\/bob\/" is missing/);
  });

  it('is refused for a version that no file can have by then', async () => {
    const withVersion = (version: number) =>
      changed(HISTORY, (content) => {
        const [head = '', newest = ''] = content.split('\n');
        const lines = [head.replace('"version":3', `"version":${version}`), newest];
        return [
          text(HISTORY, `${lines.join('\n').replace('"version":3', `"version":${version}`)}\n`),
        ];
      });
    for (const version of [2 ** 49, 2 ** 53 - 1, 2 ** 53, 1e300]) {
      await expectRefused(await withVersion(version), /greater than a file can have|not valid/);
    }
    // Such a number is not refused for its size; the archive is for its hashes.
    await expectRefused(await withVersion(2 ** 40), /was changed/);
  });

  it('is refused for a start of its chain that lies in the future, where later writes would not follow', async () => {
    const after = 'ffffffff-ffff-7fff-bfff-ffffffffffff';
    const entries = await unpack(await makeArchive());
    const without = entries.map(({ path, content }) =>
      path.startsWith('history/users/bob')
        ? text(
            path,
            content
              .toString()
              .replace(/"(contentSalt|previousHash|chainHash)":"\w+"/g, '"$1":null'),
          )
        : path === CHAIN
          ? text(path, content.toString().replace(/"head":.*/, `"head":null,"after":"${after}"}`))
          : { path, content },
    );
    await expectRefused(pack(without), /does not lead to its head/);
  });

  it('is refused where the revisions of two files have each other’s places in the chain', async () => {
    const core = await openCore();
    await call(core, 'bob', 'memory_write', { path: 'user/a.md', content: 'first' });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: 'second' });
    const entries = await unpack(await exportAll(core));
    const rows = entries
      .filter(({ path }) => path.startsWith('history/'))
      .map(({ content }) => JSON.parse(content.toString().split('\n')[1] ?? '') as RevisionRecord);
    const [one, other] = rows as [RevisionRecord, RevisionRecord];
    const toHash = (row: RevisionRecord, path: string) =>
      hashRow({ ...row, scope: 'u:bob', path, at: Date.parse(String(row.at)) });
    // Every link is there, and leads to the head, but against the order of the ids.
    const start = chainStart('u:bob', null);
    const first = linkHash(start, toHash(other, 'b.md'));
    const head = linkHash(first, toHash(one, 'a.md'));
    const relink = (content: string, previousHash: string, chainHash: string) =>
      content
        .replace(/"previousHash":"\w+"/, `"previousHash":"${previousHash}"`)
        .replace(/"chainHash":"\w+"/, `"chainHash":"${chainHash}"`);
    const swapped = entries.map(({ path, content }) => {
      const given = content.toString();
      if (path.startsWith('history/users/bob/a')) return text(path, relink(given, first, head));
      if (path.startsWith('history/users/bob/b')) return text(path, relink(given, start, first));
      if (!path.startsWith('chain/')) return { path, content };
      return text(path, given.replace(/"head":"\w+"/, `"head":"${head}"`));
    });
    await expectRefused(pack(swapped), /does not lead to its head/);
  });

  it('is refused with more than 250 revisions in one part of a history', async () => {
    const part = (revisions: number) =>
      changed(HISTORY, (content) => {
        const [head = '', first = ''] = content.split('\n');
        const lines = [head, ...Array.from({ length: revisions }, () => first)];
        return [text(HISTORY, `${lines.join('\n')}\n`)];
      });
    await expectRefused(await part(251), /has more than 250 revisions/);
    // One fewer is read, and then found not to be a history.
    await expectRefused(await part(250), /comes in the place of|is not older than/);
  });

  it('is refused above the limit of files, with nothing written', async () => {
    const archive = await makeArchive();
    const core = await openCore({ limits: { maxFilesPerUser: 1 } });
    await call(core, 'bob', 'memory_write', { path: 'user/other.md', content: 'here' });
    const error = await rejection(importAll(core, archive));
    expect(error).toMatchObject({ code: 'QUOTA_EXCEEDED', details: { userId: 'bob' } });
    const alice = { scope: 'u:alice', path: 'a.md' } as const;
    expect(await core.storage.files.get(alice)).toBe(null);
  });

  it('takes no history with the revision ids of another user', async () => {
    const core = await openCore();
    await importAll(core, await makeArchive());
    const entries = await unpack(await exportAll(core, { userId: 'bob' }));
    const renamed = entries.map(({ path, content }) =>
      text(
        path.replace('users/bob', 'users/mallory'),
        content.toString().replaceAll('users/bob', 'users/mallory').replace('"bob"', '"mallory"'),
      ),
    );
    await expectRefused(pack(renamed), /Version 3 .* was changed: it has other fields/);
    const mallory = pack(withNewHashes(renamed));
    const { files } = await importAll(core, mallory);
    expect(files).toEqual({ 'users/mallory/b.md': 'created' });
    const file = await core.storage.files.get({ scope: 'u:mallory', path: 'b.md' });
    expect(file).toMatchObject({ version: 1, latestActor: 'import', content: 'one\ntwo\nthree\n' });
  });
});
