import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RedactTextAnswer, RedactTextRequest } from '../../../core/contracts/admin.ts';
import { toCheck } from '../../../core/history/redaction/unfinished.ts';
import { createTextSearch } from '../../../core/history/text-search.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { asAdmin, serveCore } from '../http/serve.ts';
import { exportAll, importAll } from '../archive/archives.ts';
import { rejection } from '../../support/rejection.ts';
import { dreamRunRow, eventRow, makeId, makeTraceId, sha256 } from '../../support/rows.ts';
import { call, openCore } from '../../support/service.ts';
import { DATABASE, findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const SECRET = 'sk-live-7f3a9c';
const reason = 'a key was written';
const path = 'users/alice/notes.md';

async function open() {
  const database = await makeDatabase();
  const core = await openCore({
    storage: openDatabase(database),
    sharedWrites: true,
    tools: { delete: true, move: true, history: true },
  });
  const write = (content: string, file = 'user/notes.md', user = 'alice', why = 'so') =>
    call(core, user, 'memory_write', { path: file, content, reason: why });
  return { core, database, write };
}

/** A memory into which aaron's is imported, with times from before, when all files before zoe's have been gone through. */
async function openImporting() {
  const source = await openCore({ now: () => Date.parse('2024-05-06T07:08:09Z') });
  for (const content of [`old ${SECRET}\n`, 'old\n']) {
    await call(source, 'aaron', 'memory_write', { path: 'user/imported.md', content });
  }
  const archive = await exportAll(source);
  const { core, database, write } = await open();
  await write(`${SECRET}\n`);
  await write(`${SECRET}\n`, undefined, 'zoe');
  const get = core.storage.files.get.bind(core.storage.files);
  let isImported = false;
  vi.spyOn(core.storage.files, 'get').mockImplementation(async (key) => {
    if (key.scope === 'u:zoe' && !isImported) {
      isImported = true;
      await importAll(core, archive);
    }
    return await get(key);
  });
  return { core, database };
}

/** All pages of a redaction. */
async function redact(core: Core, request: RedactTextRequest): Promise<RedactTextAnswer> {
  const answer = await core.revisions.redactText(request, operator);
  if (answer.nextCursor === null) return answer;
  const rest = await redact(core, { ...request, cursor: answer.nextCursor });
  return { ...rest, files: [...answer.files, ...rest.files] };
}

async function contentOf(core: Core, version: number, of = path) {
  return (await core.fileLists.file(of, { version })).file.content;
}

async function expectSound(core: Core) {
  const { findings } = await verifyMemory(core.storage);
  expect(findings).toEqual([]);
}

describe('a text that is redacted', () => {
  it('goes out of every version, each of which keeps its other lines', async () => {
    const { core, database, write } = await open();
    const contents = [
      'one\n',
      `one\nkey ${SECRET} here\n`,
      `one\ntwo\nkey ${SECRET} here\nfour\n`,
      `zero\none\ntwo\n${SECRET}${SECRET}\nfour`,
      'one\ntwo\nfour\n',
      `one\ntwo\nfour\nand ${SECRET}\n`,
    ];
    for (const content of contents) await write(content);
    const preview = await redact(core, { text: SECRET, in: 'file', path, reason, dryRun: true });
    expect(preview.files).toEqual([
      {
        path,
        userId: 'alice',
        spaceId: null,
        versions: 4,
        fromVersion: 2,
        toVersion: 6,
        current: true,
        version: null,
        lines: [
          { version: 6, line: 4, text: 'and [redacted]' },
          { version: 4, line: 4, text: '[redacted][redacted]' },
          { version: 3, line: 3, text: 'key [redacted] here' },
          { version: 2, line: 2, text: 'key [redacted] here' },
        ],
      },
    ]);
    expect(JSON.stringify(preview)).not.toContain(SECRET);
    expect(await contentOf(core, 6)).toBe(contents[5]);
    const answer = await redact(core, { text: SECRET, in: 'file', path, reason });
    expect(answer.files).toEqual([{ ...preview.files[0], version: 7 }]);
    for (const [index, content] of contents.entries()) {
      expect(await contentOf(core, index + 1)).toBe(content.replaceAll(SECRET, '[redacted]'));
    }
    expect(await contentOf(core, 7)).toBe('one\ntwo\nfour\nand [redacted]\n');
    const { items } = await core.revisions.list({ path });
    expect(items.map(({ action, redactionId }) => [action, redactionId !== null])).toEqual([
      ['redact', false],
      ['update', true],
      ['update', false],
      ['update', true],
      ['update', true],
      ['update', true],
      ['create', false],
    ]);
    await expectSound(core);
    await core.indexer.drain();
    expect(await findCanary(database, SECRET)).toEqual([]);
    expect(await core.revisions.unfinishedRedactions()).toEqual([]);
  });

  it('leaves sizes, counts of lines and blame true to what is shown', async () => {
    const { core, write } = await open();
    await write(`a\nb ${SECRET}\nc\n`);
    await write(`a\nb [redacted]\nc\nd\n`);
    await write(`a\nb ${SECRET}\nc\nd\n`);
    await redact(core, { text: SECRET, in: 'everywhere', reason });
    const { items } = await core.revisions.list({ path, order: 'asc' });
    for (const one of items) {
      const shown = await core.revisions.get(one.id);
      const content = shown.contentAfter ?? '';
      expect([one.version, one.size]).toEqual([one.version, Buffer.byteLength(content)]);
      const lines = shown.diff.split('\n').slice(2);
      expect([one.version, one.addedLines, one.removedLines]).toEqual([
        one.version,
        lines.filter((line) => line.startsWith('+')).length,
        lines.filter((line) => line.startsWith('-')).length,
      ]);
    }
    const { blame } = await core.fileLists.file(path, { blame: true });
    expect(blame?.map(({ startLine, endLine, version }) => [startLine, endLine, version])).toEqual([
      [1, 3, 1],
      [4, 4, 2],
    ]);
    await expectSound(core);
  });

  it('is found over line breaks, which stay, whoever wrote which of its lines', async () => {
    const { core, database, write } = await open();
    const text = 'first half\nsecond half';
    await write('x\nfirst half\nother\n');
    await write('x\nfirst half\nsecond half\nother\n');
    await write('y\nx\nfirst half\nsecond half\nother\n');
    await write('y\nx\nfirst half\nsecond other\nother\n');
    const answer = await redact(core, { text, in: 'user', userId: 'alice', reason });
    expect(answer.files).toMatchObject([{ versions: 2, fromVersion: 2, toVersion: 3 }]);
    expect(await contentOf(core, 1)).toBe('x\nfirst half\nother\n');
    expect(await contentOf(core, 2)).toBe('x\n[redacted]\n[redacted]\nother\n');
    expect(await contentOf(core, 3)).toBe('y\nx\n[redacted]\n[redacted]\nother\n');
    expect(await contentOf(core, 4)).toBe('y\nx\nfirst half\nsecond other\nother\n');
    await expectSound(core);
    expect(await findCanary(database, text)).toEqual([]);
  });

  it('is found with the line ends of Windows as well, whichever it is given with', async () => {
    const parts = ['-----BEGIN KEY-----', 'abc/def+ghi', '-----END KEY-----'];
    for (const [given, stored] of [
      ['\n', '\r\n'],
      ['\r\n', '\n'],
    ] as const) {
      const { core, database, write } = await open();
      const text = parts.join(given);
      const key = parts.join(stored);
      await write(`one${stored}${key}${stored}two`, undefined, undefined, `has ${key}`);
      await write(`one${stored}two`);
      const { items } = await createTextSearch(core.storage)({ text, history: true });
      expect(items).toMatchObject([{ fromVersion: 1, toVersion: 1, matches: 1 }]);
      const answer = await redact(core, { text, in: 'everywhere', reason });
      expect(answer.files).toMatchObject([{ path, versions: 1, lines: [{ line: 2 }] }]);
      expect(await contentOf(core, 1)).toBe(
        ['one', '[redacted]', '[redacted]', '[redacted]', 'two'].join(stored),
      );
      expect(await findCanary(database, 'abc/def+ghi')).toEqual([]);
      await expectSound(core);
    }
  });

  it('is found where a file mixes line ends, also in records', async () => {
    const { core, database, write } = await open();
    const stored = 'abc "x"\r\ndef/ghi\njkl-mno';
    const text = 'abc "x"\ndef/ghi\njkl-mno';
    await write(`one\r\n${stored}\r\ntwo\n`, undefined, undefined, `has ${stored}`);
    const attributes = { question: stored, quoted: JSON.stringify({ stored }) };
    await core.storage.log.append({ access: [], events: [eventRow('u:alice', { attributes })] });
    const { items } = await createTextSearch(core.storage)({ text });
    expect(items).toMatchObject([{ matches: 1, lines: [{ line: 2 }] }]);
    const answer = await redact(core, { text, in: 'everywhere', reason });
    expect(answer).toMatchObject({ files: [{ path }], records: { events: 1, reasons: 1 } });
    expect(await contentOf(core, 1)).toBe('one\r\n[redacted]\r\n[redacted]\n[redacted]\r\ntwo\n');
    for (const part of text.split('\n')) expect(await findCanary(database, part)).toEqual([]);
    await expectSound(core);
  });

  it('goes out of moved and deleted files, of other users and of shared memory', async () => {
    const { core, database, write } = await open();
    await write(`${SECRET}\n`, 'user/a.md');
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    await write(`x ${SECRET}\n`, 'user/c.md', 'bob');
    await call(core, 'bob', 'memory_delete', { path: 'user/c.md' });
    await write(`y ${SECRET}\n`, 'shared/team.md', 'bob');
    await write('no key\n', 'user/d.md', 'carol');
    const mine = await redact(core, { text: SECRET, in: 'user', userId: 'alice', reason });
    expect(mine.files.map((file) => file.path)).toEqual(['users/alice/a.md', 'users/alice/b.md']);
    expect(await contentOf(core, 1, 'users/bob/c.md')).toBe(`x ${SECRET}\n`);
    const all = await redact(core, { text: SECRET, in: 'everywhere', reason });
    expect(all.files.map((file) => file.path)).toEqual(['shared/team.md', 'users/bob/c.md']);
    await expectSound(core);
    await core.indexer.drain();
    expect(await findCanary(database, SECRET)).toEqual([]);
    const again = await redact(core, { text: SECRET, in: 'everywhere', reason });
    expect(again).toMatchObject({ files: [], records: { reasons: 0, events: 0, audit: 0 } });
  });

  it('goes out of one file at all paths that it was moved to or from', async () => {
    const { core, database, write } = await open();
    const move = (from: string, to: string) => call(core, 'alice', 'memory_move', { from, to });
    const other = `users/alice/other.md`;
    await write(`${SECRET}\n`, 'user/a.md');
    const { items } = await core.revisions.list({ path: 'users/alice/a.md' });
    await move('user/a.md', 'user/b.md');
    await move('user/b.md', 'shared/c.md');
    await write(`made anew ${SECRET}\n`, 'user/a.md');
    await write(`${SECRET}\n`, 'user/other.md');
    const attributes = { question: SECRET };
    await core.storage.log.append({ access: [], events: [eventRow('u:bob', { attributes })] });
    // As an agent looks at it that had the file at its first path, by lines and in a preview.
    const byLines = { revisionId: items[0]?.id ?? '', lines: '1', reason } as const;
    const paths = ['users/alice/a.md', 'users/alice/b.md', 'shared/c.md'];
    const look = await redact(core, { ...byLines, dryRun: true });
    expect(look.files.map((file) => file.path)).toEqual(paths);
    const request = { text: SECRET, in: 'file', path: 'shared/c.md', reason } as const;
    const { files, records } = await redact(core, request);
    expect(files.map((file) => file.path)).toEqual(paths.toReversed());
    expect(records.events).toBe(1);
    expect(await contentOf(core, 1, other)).toBe(`${SECRET}\n`);
    await expectSound(core);
    await redact(core, { text: SECRET, in: 'file', path: other, reason });
    await core.indexer.drain();
    expect(await findCanary(database, SECRET)).toEqual([]);
  });

  it('goes out of reasons and of the audit', async () => {
    const { core, database, write } = await open();
    await write('one\n', 'user/notes.md', 'alice', `because of ${SECRET}`);
    await core.files.put(path, { content: 'two\n', reason: `not ${SECRET}` }, operator);
    const id = (await core.revisions.list({ path })).items[1]?.id ?? '';
    await core.revisions.redact(id, { reason: `it had ${SECRET}` }, operator);
    await core.queue.flush();
    expect(await findCanary(database, SECRET)).not.toEqual([]);
    const { records } = await redact(core, { text: SECRET, in: 'user', userId: 'alice', reason });
    expect(records).toMatchObject({ reasons: 2, audit: 1 });
    expect(await findCanary(database, SECRET)).toEqual([]);
    const { items } = await core.revisions.list({ path });
    expect(items.map((one) => one.reason)).toEqual(['not [redacted]', 'because of [redacted]']);
    await expectSound(core);
  });

  it('goes out of events, kept answers and dream runs, as quotation, JSON and diff', async () => {
    const { core, database, write } = await open();
    await write('one\n');
    const text = 'say "first"\nthen second';
    const inDiff = '+say "first"\n+then second\n';
    const { storage } = core;
    const scope = 'u:alice';
    const spans = [{ ...eventRow(scope).spans[0], attributes: { note: JSON.stringify(text) } }];
    await storage.log.append({
      access: [],
      events: [eventRow(scope, { attributes: { question: text }, spans: spans as never })],
    });
    const run = dreamRunRow(scope, 1, {
      errorMessage: `failed at ${text}`,
      details: JSON.stringify({
        diff: inDiff,
        operations: [{ text, path: `user/${text}.md` }],
      }),
    });
    const answer = {
      scope,
      keyHash: sha256('key'),
      requestHash: sha256('request'),
      result: JSON.stringify({ note: text }),
      toolCallId: makeId(),
      traceId: makeTraceId(),
      createdAt: 1,
    } as const;
    await storage.mutate(
      {
        scopes: [scope],
        files: [],
        idempotency: answer,
        runs: { plugin: run.plugin, scope, ids: [run.id] },
      },
      () => ({ result: null, writes: 0, changes: { idempotency: answer, runs: { runs: [run] } } }),
    );
    const preview = await redact(core, { text, in: 'user', userId: 'alice', reason, dryRun: true });
    const counts = { reasons: 0, runs: 1, events: 1, answers: 1, audit: 0, notes: 0 };
    expect(preview.records).toEqual(counts);
    const { records, left } = await redact(core, { text, in: 'user', userId: 'alice', reason });
    expect(records).toEqual(preview.records);
    expect(left.paths).toEqual([`users/alice/${text}.md`]);
    const found = await storage.runs?.find(run.id);
    expect(found?.errorMessage).toBe('failed at [redacted]\n[redacted]');
    expect(found?.details).toBe(
      JSON.stringify({
        diff: '+[redacted]\n',
        operations: [{ text: '[redacted]\n[redacted]', path: `user/${text}.md` }],
      }),
    );
    expect(await findCanary(database, 'note": "say')).toEqual([]);
    await redact(core, { text: 'then second', in: 'user', userId: 'bob', reason });
    expect((await storage.runs?.find(run.id))?.details).toEqual(found?.details);
  });

  it('leaves what an earlier redaction took out unreadable', async () => {
    const { core, database, write } = await open();
    await write('a\nb\n');
    await write(`a\nold canary\nb ${SECRET}\n`);
    const id = (await core.revisions.list({ path })).items[0]?.id ?? '';
    await write(`a\nb ${SECRET}\n`);
    await write(`a\nb ${SECRET}\nc\n`);
    await core.revisions.redact(id, { reason }, operator);
    await redact(core, { text: SECRET, in: 'file', path, reason });
    expect(await core.revisions.get(id)).toMatchObject({ redacted: true, contentAfter: null });
    expect(await contentOf(core, 3)).toBe('a\nb [redacted]\n');
    expect(await contentOf(core, 1)).toBe('a\nb\n');
    expect(await findCanary(database, SECRET)).toEqual([]);
    await expectSound(core);
  });

  it('goes out of the text that a prune left, which gets a hash again', async () => {
    const { core, database, write } = await open();
    for (let n = 0; n < 5; n += 1) await write(`${SECRET} ${n}\n`);
    await write('gone\n');
    await core.revisions.prune({ path, keepLast: 1 }, operator);
    await redact(core, { text: SECRET, in: 'file', path, reason });
    expect(await findCanary(database, SECRET)).toEqual([]);
    expect((await verifyMemory(core.storage)).uncovered).toBe(0);
    await expectSound(core);
    await core.revisions.prune({ path, keepLast: 1 }, operator);
    await expectSound(core);
  });

  it('is redacted again under another name, and pruned, with a chain that stays whole', async () => {
    const { core, write } = await open();
    for (let n = 0; n < 70; n += 1) await write(`${n}\n${SECRET}\nother ${n % 7} text\n`);
    await redact(core, { text: SECRET, in: 'file', path, reason });
    await redact(core, { text: 'other', in: 'file', path, reason, replacement: '(gone)' });
    expect(await contentOf(core, 3)).toBe('2\n[redacted]\n(gone) 2 text\n');
    await expectSound(core);
    await core.revisions.prune({ path, keepLast: 20 }, operator);
    await expectSound(core);
  });

  it('is taken from lines of a revision, by default in its file, and that revision comes last', async () => {
    const { core, write } = await open();
    await write(`a\n${SECRET} x\nb\n`);
    await write(`a\n${SECRET} x\nb\nc\n`);
    await write(`${SECRET} x\n`, 'user/other.md');
    const first = (await core.revisions.list({ path, order: 'asc' })).items[0]?.id ?? '';
    const request = { revisionId: first, lines: '2-2', reason };
    await redact(core, request);
    expect(await contentOf(core, 1)).toBe('a\n[redacted]\nb\n');
    expect(await contentOf(core, 2)).toBe('a\n[redacted]\nb\nc\n');
    expect(await contentOf(core, 1, 'users/alice/other.md')).toBe(`${SECRET} x\n`);
    await expectSound(core);
    // Its lines are redacted: the same again finds nothing to do.
    expect(await redact(core, request)).toMatchObject({ files: [] });
  });

  it('counts in the row of the scope, also when only old versions change', async () => {
    const { core, write } = await open();
    await write(`${SECRET}\n`);
    await write('two\n');
    const before = await core.storage.inspection?.scope('u:alice');
    await redact(core, { text: SECRET, in: 'file', path, reason });
    const after = await core.storage.inspection?.scope('u:alice');
    expect(after?.redactions).toBe((before?.redactions ?? 0) + 1);
    expect((await core.fileLists.file(path, {})).file.version).toBe(2);
    await expectSound(core);
  });

  it('goes out of what the members and operators of a space left', async () => {
    const { core, database } = await open();
    const space = { userId: 'alice', spaces: [{ id: 'team', access: 'write' as const }] };
    const file = 'spaces/team/notes.md';
    await core.tools.execute('memory_write', {
      context: space,
      arguments: { path: file, content: `one ${SECRET}\n` },
    });
    await core.files.put(file, { content: 'two\n', reason: 'clean' }, operator);
    const id = (await core.revisions.list({ path: file, order: 'asc' })).items[0]?.id ?? '';
    await core.revisions.redact(id, { reason: `it had ${SECRET}` }, operator);
    // The call is in the records of its user, not of the space.
    await core.storage.log.append({
      access: [],
      events: [eventRow('u:alice', { attributes: { question: SECRET } })],
    });
    await core.queue.flush();
    const request = { text: SECRET, in: 'user', spaceId: 'team', reason } as const;
    const { records } = await redact(core, request);
    expect(records).toMatchObject({ events: 1, audit: 1 });
    expect(await findCanary(database, SECRET)).toEqual([]);
  });

  // Pages are made above the database, whose calls would be late by this clock.
  it.runIf(DATABASE === undefined)('goes on by its cursor, and not with another text', async () => {
    const { core, database, write } = await open();
    for (const user of ['alice', 'bob']) await write(`${SECRET}\nother\n`, 'user/a.md', user);
    const request = { text: SECRET, in: 'everywhere', reason } as const;
    // Each look at the clock comes after the time of a page.
    let ms = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (ms += 5_000));
    onTestFinished(() => clock.mockRestore());
    const { id, nextCursor } = await core.revisions.redactText(request, operator);
    const cursor = nextCursor ?? '';
    const checkOf = (text: string) => toCheck(id ?? '', text);
    // One of 16 texts has the same check.
    const texts = Array.from({ length: 20 }, (_, at) => `another ${at}`);
    const text = texts.find((one) => checkOf(one) !== checkOf(SECRET)) ?? '';
    const wrong = core.revisions.redactText({ ...request, text, cursor }, operator);
    expect(await rejection(wrong)).toMatchObject({ code: 'INVALID_CURSOR' });
    expect(await core.revisions.unfinishedRedactions()).toHaveLength(1);
    const { files } = await redact(core, { ...request, cursor });
    expect(files.map((file) => file.path)).toEqual(['users/bob/a.md']);
    expect(await findCanary(database, SECRET)).toEqual([]);
  });

  it('is named where it stays: in paths, user ids and actors', async () => {
    const { core, write } = await open();
    await call(
      core,
      'user-canary',
      'memory_write',
      { path: 'user/canary.md', content: 'x\n' },
      { actor: 'canary-agent' },
    );
    await write('canary\n');
    await core.freezes.freeze({ actor: 'frozen-canary', minutes: 5, reason }, operator);
    const { left } = await redact(core, { text: 'canary', in: 'everywhere', reason });
    expect(left).toMatchObject({
      paths: ['users/user-canary/canary.md'],
      userIds: ['user-canary'],
      actors: ['canary-agent', 'frozen-canary'],
    });
  });

  it('names the files of others whose writers had read it', async () => {
    const { core, write } = await open();
    const traceparent = `00-${'4'.repeat(32)}-${'5'.repeat(16)}-01`;
    await write(`${SECRET}\n`);
    await call(core, 'alice', 'memory_read', { path: 'user/notes.md' }, { traceparent });
    await call(
      core,
      'bob',
      'memory_write',
      { path: 'user/copy.md', content: 'what I read\n' },
      { traceparent },
    );
    await core.queue.flush();
    const { readers } = await redact(core, { text: SECRET, in: 'user', userId: 'alice', reason });
    expect(readers.map((reader) => reader.path)).toEqual(['users/bob/copy.md']);
  });

  it('goes out of all files of a space, and of no other memory', async () => {
    const { core, database, write } = await open();
    const named = { spaces: [{ id: 'team', access: 'write' as const }] };
    const put = (file: string, content: string) =>
      call(core, 'alice', 'memory_write', { path: `spaces/team/${file}`, content }, named);
    await put('plan.md', `one\n${SECRET}\n`);
    await put('plan.md', 'one\n');
    await put('keys/live.md', `${SECRET}\n`);
    await write(`${SECRET}\n`);
    const request = { text: SECRET, in: 'user' as const, spaceId: 'team', reason };
    const { files } = await redact(core, request);
    expect(files.map((file) => [file.path, file.spaceId, file.versions, file.version])).toEqual([
      ['spaces/team/keys/live.md', 'team', 1, 2],
      ['spaces/team/plan.md', 'team', 1, null],
    ]);
    expect(await contentOf(core, 2, 'spaces/team/keys/live.md')).toBe('[redacted]\n');
    expect(await contentOf(core, 1)).toBe(`${SECRET}\n`);
    await core.indexer.drain();
    const inSpace = await findCanary(database, SECRET);
    await redact(core, { text: SECRET, in: 'user', userId: 'alice', reason });
    await core.indexer.drain();
    expect(inSpace).not.toEqual([]);
    expect(await findCanary(database, SECRET)).toEqual([]);
    await expectSound(core);
  });

  it('is in no later export, as an archive and as commits', async () => {
    const { core, write } = await open();
    await write(`one\n${SECRET}\n`, undefined, undefined, `wrote ${SECRET}`);
    await write('one\ntwo\n');
    const exports = async () => {
      const formats = ['archive', 'git'] as const;
      const texts = await Promise.all(
        formats.map(async (format) => {
          const stream = await core.archive.export({ history: true, format }, null);
          const bytes = await buffer(stream);
          return (format === 'git' ? bytes : gunzipSync(bytes)).toString();
        }),
      );
      return texts.map((text) => text.includes(SECRET));
    };
    expect(await exports()).toEqual([true, true]);
    await redact(core, { text: SECRET, in: 'everywhere', reason });
    expect(await exports()).toEqual([false, false]);
  });

  it('may remain where the service can not reach it: the receipt says where, and what ends it', async () => {
    const { core, write } = await open();
    await write(`${SECRET}\n`);
    const { mayRemain } = await redact(core, { text: SECRET, in: 'everywhere', reason });
    const said = mayRemain.join('\n');
    for (const place of ['Backups', 'exports', 'git export', 'Traces', 'providers', 'others']) {
      expect(said).toContain(place);
    }
    const commands = {
      mariadb: ['OPTIMIZE TABLE svc_', 'innodb_undo_log_truncate', 'PURGE BINARY LOGS'],
      postgres: ['VACUUM FULL svc_', 'CHECKPOINT', 'replication slots'],
    };
    for (const [database, theirs] of Object.entries(commands)) {
      for (const command of theirs) {
        expect([command, said.includes(command)]).toEqual([command, database === DATABASE]);
      }
    }
  });

  it('is refused where it can not be done, and nothing is written', async () => {
    const { core, write } = await open();
    await write(`one ${SECRET}\n`);
    const id = (await core.revisions.list({ path })).items[0]?.id ?? '';
    const refused: [RedactTextRequest, string][] = [
      [{ text: SECRET, reason }, 'INVALID_REQUEST'],
      [{ text: SECRET, in: 'file', reason }, 'INVALID_REQUEST'],
      [{ text: SECRET, in: 'user', reason }, 'INVALID_REQUEST'],
      [{ text: SECRET, in: 'everywhere', userId: 'alice', reason }, 'INVALID_REQUEST'],
      [{ text: SECRET, in: 'everywhere', reason: `was ${SECRET}` }, 'INVALID_REQUEST'],
      [{ text: SECRET, in: 'everywhere', reason, replacement: `(${SECRET})` }, 'INVALID_REQUEST'],
      [{ text: '    ', in: 'everywhere', reason }, 'INVALID_REQUEST'],
      [{ text: SECRET, in: 'file', path: 'nowhere', reason }, 'INVALID_PATH'],
      [{ text: SECRET, in: 'user', userId: 'a/b', reason }, 'INVALID_USER_ID'],
      [{ text: SECRET, revisionId: id, lines: '1', reason }, 'INVALID_REQUEST'],
      [{ revisionId: id, reason }, 'INVALID_REQUEST'],
      [{ revisionId: id, lines: '2', reason }, 'INVALID_REQUEST'],
      [{ revisionId: 'x', lines: '1', reason }, 'REVISION_NOT_FOUND'],
      [{ text: SECRET, in: 'everywhere', reason, cursor: 'x' }, 'INVALID_CURSOR'],
    ];
    for (const [request, code] of refused) {
      expect([
        request,
        await rejection(core.revisions.redactText(request, operator)),
      ]).toMatchObject([request, { code }]);
    }
    expect(await core.revisions.unfinishedRedactions()).toEqual([]);
    expect(await contentOf(core, 1)).toBe(`one ${SECRET}\n`);
  });

  it('survives texts that come about anew beside their replacement', async () => {
    const { core, database, write } = await open();
    await write('d]x!d]x!x!\nkeep\n');
    await redact(core, { text: 'd]x!', in: 'everywhere', reason });
    expect(await findCanary(database, 'd]x!')).toEqual([]);
    await expectSound(core);
  });

  it('takes a text of 4,096 characters, and refuses others', async () => {
    const { core, write } = await open();
    const long = 'long text '.repeat(410).slice(0, 4_096);
    await write(`a\n${long}\nb\n`);
    await redact(core, { text: long, in: 'everywhere', reason });
    expect(await contentOf(core, 1)).toBe('a\n[redacted]\nb\n');
    for (const text of ['abc', `${long}x`, 'x'.repeat(65_536)]) {
      const asked = core.revisions.redactText({ text, in: 'everywhere', reason }, operator);
      expect(await rejection(asked)).toMatchObject({ code: 'INVALID_REQUEST' });
    }
  });

  it('is gone although others write meanwhile', async () => {
    const { core, database, write } = await open();
    for (let n = 0; n < 30; n += 1) await write(`${SECRET} ${n}\n`);
    let isDone = false;
    const writes = (async () => {
      for (let n = 0; !isDone; n += 1) await write(`clean ${n}\n`, `user/${n % 3}.md`);
    })();
    const more = (async () => {
      for (let n = 0; n < 5; n += 1) await write(`more ${n}\n`);
    })();
    await redact(core, { text: SECRET, in: 'user', userId: 'alice', reason });
    isDone = true;
    await Promise.all([writes, more]);
    await core.indexer.drain();
    expect(await findCanary(database, SECRET)).toEqual([]);
    await expectSound(core);
  });

  it('is gone from what an import wrote meanwhile, with times from before', async () => {
    const { core, database } = await openImporting();
    const answer = await redact(core, { text: SECRET, in: 'everywhere', reason });
    expect(answer.files.map((file) => file.path)).toEqual([
      path,
      'users/zoe/notes.md',
      'users/aaron/imported.md',
    ]);
    expect(answer.mayRemain.join()).not.toContain('import');
    await core.indexer.drain();
    expect(await findCanary(database, SECRET)).toEqual([]);
    await expectSound(core);
  });

  it('is listed once by a preview beside which an import ends', async () => {
    const { core } = await openImporting();
    const request = { text: SECRET, in: 'everywhere', reason, dryRun: true } as const;
    const { files } = await redact(core, request);
    expect(files.map((file) => file.path)).toEqual([path, 'users/zoe/notes.md']);
  });

  it('may come again with an import that has not ended: the receipt says so', async () => {
    const { core, write } = await open();
    await write(`${SECRET}\n`);
    const begun = { action: 'memory.import', target: 'all', details: { step: 'begin' } };
    await core.storage.mutate({ scopes: [], files: [] }, () => ({
      result: null,
      writes: 0,
      changes: { audit: [{ ...begun, ...operator, operator: null, id: makeId(), at: Date.now() }] },
    }));
    const answer = await redact(core, { text: SECRET, in: 'everywhere', reason });
    expect(answer.mayRemain).toContainEqual(expect.stringMatching(/import .* has not ended/));
  });

  // Parts are made above the database.
  it.runIf(DATABASE === undefined)(
    'is redacted in parts where a file has more versions than one transaction takes',
    async () => {
      const { core, database, write } = await open();
      for (let n = 0; n < 1_030; n += 1) await write(`${n} ${SECRET}\nkeep\n`);
      const { files } = await redact(core, { text: SECRET, in: 'file', path, reason });
      expect(files).toMatchObject([{ versions: 1_030, fromVersion: 1, toVersion: 1_030 }]);
      const scope = await core.storage.inspection?.scope('u:alice');
      expect(scope?.redactions).toBe(2);
      expect(await contentOf(core, 1)).toBe('0 [redacted]\nkeep\n');
      expect(await contentOf(core, 600)).toBe('599 [redacted]\nkeep\n');
      expect(await findCanary(database, SECRET)).toEqual([]);
      await expectSound(core);
    },
  );
});

it('takes lines by numbers of several digits, over HTTP', async () => {
  const { core, request } = await serveCore();
  const content = Array.from({ length: 12 }, (_, at) => `line ${at + 1}\n`).join('');
  const { result } = await call(core, 'alice', 'memory_write', { path: 'user/notes.md', content });
  const body = { revisionId: result['revisionId'], lines: '10-12', reason, dryRun: true };
  const { status, json } = await request('POST', '/v1/admin/redact', { headers: asAdmin, body });
  expect([status, json.files]).toMatchObject([200, [{ path, current: true }]]);
  expect(json.files[0].lines).toMatchObject([{ version: 1, line: 10 }]);
});

it('is masked in a preview over HTTP, whether it is given or taken from lines', async () => {
  const { core, request } = await serveCore();
  const content = `a\nthe key is ${SECRET}, keep it\n`;
  const { result } = await call(core, 'alice', 'memory_write', { path: 'user/notes.md', content });
  const previews = [
    { text: SECRET, in: 'everywhere' },
    { text: SECRET, in: 'user', userId: 'alice', replacement: '[key]' },
    { revisionId: result['revisionId'], lines: '2-2' },
  ];
  const shown = await Promise.all(
    previews.map(async (one) => {
      const body = { ...one, reason, dryRun: true };
      const answer = await request('POST', '/v1/admin/redact', { headers: asAdmin, body });
      expect(JSON.stringify([answer.json, answer.headers])).not.toContain(SECRET);
      return answer.json.files[0].lines[0].text as string;
    }),
  );
  expect(shown).toEqual([
    'the key is [redacted], keep it',
    'the key is [key], keep it',
    '[redacted]',
  ]);
  const audit = await request('GET', '/v1/admin/audit', { headers: asAdmin });
  expect(JSON.stringify(audit.json)).not.toContain(SECRET);
  expect(await contentOf(core, 1)).toBe(content);
});
