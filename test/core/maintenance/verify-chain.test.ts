import { writeOne } from '../../support/write-one.ts';
import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Finding, Verification } from '../../../core/contracts/admin.ts';
import type { Host } from '../../../core/contracts/plugin.ts';
import type { RevisionRecord, ScopeKey } from '../../../core/contracts/records.ts';
import type { PruneOptions, Storage } from '../../../core/contracts/storage.ts';
import { toPhysicalPath } from '../../../core/files/paths.ts';
import { hashRow, linkHash, sealContent, toPruned } from '../../../core/history/chain.ts';
import { encodeDelta } from '../../../core/history/delta/codec.ts';
import { createIdSource } from '../../../core/ids/ids.ts';
import { createRetention } from '../../../core/maintenance/retention.ts';
import { verifyChain } from '../../../core/maintenance/verify-chain.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { quiet } from '../../support/quiet-log.ts';
import { runRawSql } from '../../support/raw-sql.ts';
import { call, openCore } from '../../support/service.ts';
import { exportAll, importAll, pack, unpack } from '../archive/archives.ts';
import * as tables from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** A database of the project's kind, which a test also changes behind the service's back. */
interface Database {
  /** Of a SQLite file. */
  filename: string | null;
  storage(): Storage;
  /** Runs a statement, and returns the number of changed rows. */
  run(sql: string): Promise<number>;
}

async function makeDatabase(): Promise<Database> {
  const database = await tables.makeDatabase();
  return {
    filename: tables.DATABASE === undefined ? database : null,
    storage: () => tables.openDatabase(database),
    run: (sql) => runRawSql(database, sql),
  };
}

async function verifyAgain(database: Database): Promise<Verification> {
  const storage = database.storage();
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return await verifyMemory(storage);
}

const chainFindings = ({ findings }: Verification): Finding[] =>
  findings.filter(({ invariant }) => invariant === 'chain');

/** A history of each kind of write: two users, shared memory, and a move between both. */
async function fill(core: Core, host: Host): Promise<void> {
  const write = (tool: string, args: object, user = 'alice') => call(core, user, tool, args);
  await write('memory_write', { path: 'user/tea.md', content: 'green\n' });
  for (let n = 1; n <= 6; n += 1) {
    await write('memory_patch', { path: 'user/tea.md', append: { text: `cup ${n}` } });
  }
  await write('memory_write', { path: 'user/gone.md', content: 'soon gone' });
  await write('memory_delete', { path: 'user/gone.md' });
  await write('memory_write', { path: 'user/old.md', content: 'moves', reason: 'Ünïcode “x”' });
  await write('memory_move', { from: 'user/old.md', to: 'shared/new.md' });
  await write('memory_write', { path: 'user/plan.md', content: 'of bob' }, 'bob');
  const change = {
    scope: 'u:alice' as const,
    path: 'user/tea.md',
    content: 'black\n',
    reason: 'Merged.',
  };
  const { revisionId } = await writeOne(host, change, { actor: 'dream-agent' });
  await core.revisions.revert(revisionId, {}, operator);
}

const OPTIONS = { tools: { delete: true, move: true }, sharedWrites: true };
type Fill = (database: Database) => Promise<Core>;
/** The closed SQLite files that each of these made. */
const filledFiles = new Map<Fill, Buffer>();

/** Opens a database that `fill` has filled: a copy of the file that it made for the first test. */
async function openCopy(database: Database, fill: Fill): Promise<Core> {
  const { filename } = database;
  if (filename === null) return await fill(database);
  const made = filledFiles.get(fill);
  if (made === undefined) {
    await (await fill(database)).close();
    filledFiles.set(fill, await readFile(filename));
  } else {
    await writeFile(filename, made);
  }
  return await openCore({ storage: database.storage(), ...OPTIONS });
}

const openFilled = (database: Database) => openCopy(database, makeFilled);

async function makeFilled(database: Database): Promise<Core> {
  let host: Host | null = null;
  const plugin = {
    name: 'toy',
    apiVersion: 2 as const,
    setup: (given: Host) => void (host = given),
  };
  const core = await openCore({
    storage: database.storage(),
    plugins: [plugin],
    ...OPTIONS,
  });
  if (host === null) throw new Error('setup was not called');
  await fill(core, host);
  return core;
}

async function listHistory({ storage }: Core, scope: ScopeKey): Promise<readonly RevisionRecord[]> {
  const page = { limit: 500, order: 'asc', after: null } as const;
  return (await storage.revisions.list({ scope }, page)).items;
}

const sha256 = (text: string) => hash('sha256', text);

it('can be recomputed from the documented fields alone', async () => {
  const core = await openFilled(await makeDatabase());
  for (const scope of ['u:alice', 'u:bob', 's'] as const) {
    let previous = sha256(JSON.stringify(['memory-service history', scope, null]));
    for (const row of await listHistory(core, scope)) {
      const fields: Record<string, unknown> = {
        action: row.action,
        actor: row.actor,
        addedLines: row.addedLines,
        at: row.at,
        existedBefore: row.existedBefore,
        existsAfter: row.existsAfter,
        hashFormat: 2,
        id: row.id,
        path: toPhysicalPath(row),
        peerId: row.peerId,
        reason: row.reason,
        removedLines: row.removedLines,
        reverts: row.reverts,
        runId: row.runId,
        seal: sha256(`${row.contentSalt}${row.hash}`),
        size: row.size,
        tool: row.tool,
        toolCallId: row.toolCallId,
        traceId: row.traceId,
        version: row.version,
      };
      for (const [name, value] of Object.entries(fields)) {
        if (value === null) delete fields[name];
      }
      expect(row.previousHash).toBe(previous);
      previous = sha256(previous + sha256(JSON.stringify(fields)));
      expect(row.chainHash).toBe(previous);
      const detail = await core.revisions.get(row.id);
      expect(detail).toMatchObject({ hash: row.chainHash, previousHash: row.previousHash });
    }
    const users = (await core.fileLists.users({})).items;
    const user = users.find(({ userId }) => `u:${userId}` === scope);
    if (user !== undefined) expect(user.historyHash).toBe(previous);
  }
  const salts = (await listHistory(core, 'u:alice')).map(({ contentSalt }) => contentSalt);
  expect(new Set(salts).size).toBe(salts.length);
  const verification = await verifyMemory(core.storage);
  expect(verification).toMatchObject({ found: 0, unchained: 0, chainedSince: null });
});

const hex = (id: string | null) => `x'${(id ?? '').replaceAll('-', '')}'`;
const OF_ALICE = "scope_id = (select s.scope_id from svc_scope s where s.scope = 'u:alice')";
const at = (row: RevisionRecord) => `${OF_ALICE} and id = ${hex(row.id)}`;
const set = (what: string) => (row: RevisionRecord) => [
  `update svc_revision set ${what} where ${at(row)}`,
];
/** The chain hash that a row gets from someone who knows how it is made. */
const forged = (row: RevisionRecord) => hex(linkHash(row.previousHash ?? '', hashRow(row)));

const SPOILT = "x'00000000000000000000000000000001'";

describe('a history that was tampered with', () => {
  /** Statements that change version 3 of a file, and the version at which that is found. */
  it.each<[string, (row: RevisionRecord, next: RevisionRecord) => string[], number, string]>([
    ['another actor', set("actor = 'mallory'"), 3, 'has other fields'],
    ['another reason', set("reason = 'why'"), 3, 'has other fields'],
    ['another time', set('at = at + 1'), 3, 'has other fields'],
    ['the hash of another content', set(`hash = ${hex('ab'.repeat(32))}`), 3, 'another content'],
    ['another salt', set(`content_salt = ${SPOILT}`), 3, 'another content'],
    ['no salt', set('content_salt = null'), 3, 'lacks the hash or the salt'],
    ['another format of its hash', set('hash_format = 1'), 3, 'has other fields'],
    ['an unknown format of its hash', set('hash_format = 3'), 3, 'does not know'],
    ['a redaction that was none', set('redacted = 1'), 3, 'lacks the hash or the salt'],
    ['no hash', set('chain_hash = null'), 3, 'has no hash'],
    ['another hash before it', set(`previous_hash = ${hex('ab'.repeat(32))}`), 3, 'other fields'],
    ['a removed row', (row) => [`delete from svc_revision where ${at(row)}`], 4, 'is missing'],
    [
      'a row whose hash was made again',
      (row) => set(`actor = 'mallory', chain_hash = ${forged({ ...row, actor: 'mallory' })}`)(row),
      4,
      'that one was changed',
    ],
    [
      'an inserted row',
      (row, next) => {
        // Between the two, as far as their ids tell.
        const id = `${row.id.slice(0, -12)}ffffffffffff`;
        const link = { ...row, id, version: 99, previousHash: row.chainHash };
        const columns =
          'scope_id, file_no, action, actor, reason, tool, tool_call_id, trace_id, run_id, at, size,' +
          ' added, removed, peer_id, redacted, existed_before, exists_after, hash, content_salt, delta,' +
          ' hash_format';
        expect(id < next.id).toBe(true);
        return [
          `insert into svc_revision (${columns}, id, version, previous_hash, chain_hash)` +
            ` select ${columns}, ${hex(id)}, 99, ${hex(row.chainHash)}, ${forged(link)}` +
            ` from svc_revision where ${at(row)}`,
        ];
      },
      4,
      'which was inserted before it',
    ],
  ])('names %s', async (_name, change, version, message) => {
    const database = await makeDatabase();
    const core = await openFilled(database);
    const tea = (await listHistory(core, 'u:alice')).filter((row) => row.path === 'tea.md');
    await core.close();
    const [row, next] = [tea[2], tea[3]] as [RevisionRecord, RevisionRecord];
    for (const sql of change(row, next)) expect(await database.run(sql)).toBe(1);
    const found = chainFindings(await verifyAgain(database));
    expect(found).toHaveLength(1);
    expect(found[0]?.path).toBe('users/alice/tea.md');
    expect(found[0]?.message).toContain(`at version ${version} `);
    expect(found[0]?.message).toContain(message);
  });

  it('names both rows of a pair that was swapped', async () => {
    const database = await makeDatabase();
    const core = await openFilled(database);
    const tea = (await listHistory(core, 'u:alice')).filter((row) => row.path === 'tea.md');
    await core.close();
    const [row, next] = [tea[2], tea[3]] as [RevisionRecord, RevisionRecord];
    for (const [from, to] of [
      [hex(row.id), SPOILT],
      [hex(next.id), hex(row.id)],
      [SPOILT, hex(next.id)],
    ]) {
      await database.run(`update svc_revision set id = ${to} where ${OF_ALICE} and id = ${from}`);
    }
    const lines = chainFindings(await verifyAgain(database)).map(({ message }) => message);
    expect(lines[0]).toContain('at version 4 ');
    expect(lines[1]).toContain('at version 3 ');
  });

  it('names a scope whose newest revisions are gone, and goes on with the others', async () => {
    const database = await makeDatabase();
    const core = await openFilled(database);
    const last = (await listHistory(core, 'u:alice')).at(-1) as RevisionRecord;
    const [first] = await listHistory(core, 'u:bob');
    await core.close();
    await database.run(`delete from svc_revision where ${at(last)}`);
    await database.run(`update svc_revision set size = 9 where id = ${hex(first?.id ?? null)}`);
    const found = chainFindings(await verifyAgain(database));
    expect(found.map(({ path: of }) => of)).toEqual([null, 'users/bob/plan.md']);
    expect(found[0]?.message).toContain('the history of u:alice ends');
  });

  it('names a head that was kept elsewhere and is another now, by its revision', async () => {
    const database = await makeDatabase();
    const core = await openFilled(database);
    const kept = (await listHistory(core, 'u:bob')).at(-1) as RevisionRecord;
    const rewritten = { ...kept, actor: 'mallory' };
    const head = forged(rewritten);
    await core.close();
    // Who can write the database can make a chain that is whole.
    await database.run(
      `update svc_revision set actor = 'mallory', chain_hash = ${head} where id = ${hex(kept.id)}`,
    );
    await database.run(`update svc_scope set chain_head = ${head} where scope = 'u:bob'`);
    const again = await openCore({ storage: database.storage() });
    expect(chainFindings(await verifyMemory(again.storage))).toEqual([]);
    expect((await again.revisions.get(kept.id)).hash).not.toBe(kept.chainHash);
  });
});

it('is whole after a prune, which keeps the hashes of what it removed', async () => {
  const database = await makeDatabase();
  const core = await openFilled(database);
  const before = await listHistory(core, 'u:alice');
  await core.revisions.prune({ keepLast: 2, userId: 'alice' }, operator);
  const left = await listHistory(core, 'u:alice');
  expect(left.length).toBeLessThan(before.length);
  const inspection = core.storage.inspection as NonNullable<Storage['inspection']>;
  const pruned = await inspection.pruned('u:alice', { after: null, limit: 99 });
  const ids = new Set(left.map(({ id }) => id));
  const revisions = pruned.filter(({ contentHash }) => contentHash === null);
  expect(revisions.map(({ id, version, chainHash }) => [id, version, chainHash])).toEqual(
    before
      .filter(({ id }) => !ids.has(id))
      .map(({ id, version, chainHash }) => [id, version, chainHash]),
  );
  expect(await inspection.pruned('u:alice', { after: pruned[0]?.id ?? null, limit: 1 })).toEqual([
    pruned[1],
  ]);
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
  await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content: 'after' });
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
  await core.close();

  // No row that remains can be changed behind the gap: the chain is recomputed over it.
  const last = revisions.at(-1)?.id ?? null;
  await database.run(
    `update svc_pruned_revision set row_hash = chain_hash where id = ${hex(last)}`,
  );
  const found = chainFindings(await verifyAgain(database));
  expect(found.map(({ message }) => message.includes(`${last}, which is pruned`))).toEqual([true]);
});

it('is whole after a redaction, which removes the salt and the hash of the content', async () => {
  const database = await makeDatabase();
  const core = await openFilled(database);
  const [row] = (await listHistory(core, 'u:alice')).filter(({ version }) => version === 3);
  await core.close();
  const seal = hex(sealContent(row as RevisionRecord));
  await database.run(
    `update svc_revision set redacted = 1, content_seal = ${seal}, content_salt = null, hash = ${hex('0'.repeat(64))}` +
      ` where ${at(row as RevisionRecord)}`,
  );
  expect(chainFindings(await verifyAgain(database))).toEqual([]);
  await database.run(
    `update svc_revision set content_seal = hash where ${at(row as RevisionRecord)}`,
  );
  expect(chainFindings(await verifyAgain(database))).toHaveLength(1);
});

it('takes no write and no prune that happens meanwhile for a break', async () => {
  const core = await openFilled(await makeDatabase());
  let isDone = false;
  const working = (async () => {
    for (let n = 0; n < 60; n += 1) {
      await call(core, 'alice', 'memory_patch', { path: 'user/tea.md', append: { text: `${n}` } });
      if (n % 5 === 0) await core.revisions.prune({ keepLast: 3, userId: 'alice' }, operator);
    }
    isDone = true;
  })();
  let rounds = 0;
  while (!isDone) {
    const chain = await verifyChain(core.storage, 'u:alice');
    expect(chain?.found).toEqual([]);
    rounds += 1;
  }
  await working;
  expect(rounds).toBeGreaterThan(0);
});

/** Takes a database of schema 12 back to schema 11, whose prunes left no hash of the oldest text. */
async function dropBases(database: Database): Promise<void> {
  const of = tables.DATABASE === 'mariadb' ? ' on svc_scope' : '';
  await database.run(`drop index svc_scope_uncovered${of}`);
  await database.run('alter table svc_scope drop column uncovered');
  await database.run("update svc_meta set value = '11' where `key` = 'schema_version'");
}

it('starts after the history of today, and says so', async () => {
  const database = await makeDatabase();
  const core = await openFilled(database);
  const old = await listHistory(core, 'u:alice');
  await core.close();
  // The schema of before.
  await database.run('drop table svc_pruned_revision');
  const columns = [
    'content_salt',
    'content_seal',
    'previous_hash',
    'chain_hash',
    'redacted_before',
  ];
  for (const column of columns) {
    await database.run(`alter table svc_revision drop column ${column}`);
  }
  for (const column of ['chain_head', 'chain_after', 'erased_at']) {
    await database.run(`alter table svc_scope drop column ${column}`);
  }
  await database.run('alter table svc_file_stat drop column last_shown_at');
  await dropBases(database);
  await database.run("update svc_meta set value = '8' where `key` = 'schema_version'");

  const migrated = await openCore({ storage: database.storage() });
  const newest = old.at(-1) as RevisionRecord;
  const start = sha256(JSON.stringify(['memory-service history', 'u:alice', newest.id]));
  expect(await migrated.storage.inspection?.scope('u:alice')).toMatchObject({
    chainHead: null,
    chainAfter: newest.id,
  });
  expect(await migrated.revisions.get(newest.id)).toMatchObject({ hash: null, previousHash: null });
  const of = { path: 'user/tea.md', content: 'new', reason: 'x' };
  await call(migrated, 'alice', 'memory_write', of);
  await call(migrated, 'carol', 'memory_write', of);
  const rows = await listHistory(migrated, 'u:alice');
  expect(rows.at(-1)?.previousHash).toBe(start);
  const verification = await verifyMemory(migrated.storage);
  expect(verification.findings).toEqual([]);
  expect(verification.unchained).toBe(verification.revisions - 2);
  const newestOfAll = await Promise.all(
    (['u:alice', 'u:bob', 's'] as const).map(async (scope) => {
      const history = await listHistory(migrated, scope);
      return history.findLast(({ chainHash }) => chainHash === null)?.at ?? 0;
    }),
  );
  expect(verification.chainedSince).toBe(new Date(Math.max(...newestOfAll)).toISOString());
  await migrated.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
  expect((await verifyMemory(migrated.storage)).findings).toEqual([]);
  await migrated.close();

  // A row of before can't be passed off as one of today.
  const made = rows.at(-1) as RevisionRecord;
  await database.run(`update svc_revision set previous_hash = null where id = ${hex(made.id)}`);
  const [found] = chainFindings(await verifyAgain(database));
  expect(found?.message).toContain('was written after the chain started');
});

const openWithTexts = (database: Database) => openCopy(database, makeTexts);

/** A memory with every kind of kept text, and the number of the revision of each version. */
async function makeTexts(database: Database): Promise<Core> {
  const core = await openCore({ storage: database.storage(), ...OPTIONS });
  const write = async (file: string, versions: number) => {
    for (let n = 1; n <= versions; n += 1) {
      const content = `first line\n- fact ${n}\n${'other line\n'.repeat(n)}`;
      await call(core, 'alice', 'memory_write', { path: `user/${file}.md`, content });
    }
  };
  await write('tea', 70);
  await write('pruned', 6);
  await core.revisions.prune({ keepLast: 3, path: 'users/alice/pruned.md' }, operator);
  await write('redacted', 5);
  const key = { scope: 'u:alice', path: 'redacted.md' } as const;
  const third = await core.storage.revisions.ofVersion(key, 3);
  await core.revisions.redact(third?.id ?? '', { reason: 'a key' }, operator);
  await write('gone', 2);
  await call(core, 'alice', 'memory_delete', { path: 'user/gone.md' });
  await core.indexer.drain();
  expect(await verifyMemory(core.storage)).toMatchObject({ found: 0, uncovered: 0 });
  return core;
}

/** Bytes as a literal of both databases. */
const bytes = (data: Uint8Array) => `x'${Buffer.from(data).toString('hex')}'`;
const FORGED = 'forged line\n';
const forgedStep = bytes(
  encodeDelta({
    hunks: [{ start: 0, removed: 1, addedLines: 1, prefix: 0, suffix: 0, text: FORGED }],
  }),
);
const fileNo = (name: string) =>
  `(select f.file_no from svc_file f where f.path = '${name}.md' and f.${OF_ALICE})`;
const of = (name: string, version: number) =>
  `${OF_ALICE} and file_no = ${fileNo(name)} and version = ${version}`;
const step = (name: string, version: number, change: string) =>
  `update svc_revision set ${change} where ${of(name, version)}`;

describe('a text that somebody put in the place of a kept one', () => {
  it.each<[string, string[]]>([
    [
      'the present content',
      [
        `update svc_content set content = '${FORGED}' where ${OF_ALICE} and file_no = ${fileNo('tea')}`,
      ],
    ],
    [
      'the present content, with its hash and size',
      [
        `update svc_content set content = '${FORGED}' where ${OF_ALICE} and file_no = ${fileNo('tea')}`,
        `update svc_file set hash = ${bytes(hash('sha256', FORGED, 'buffer'))}, size = ${FORGED.length} where ${OF_ALICE} and path = 'tea.md'`,
      ],
    ],
    ['an older content, by its delta', [step('tea', 9, `delta = ${forgedStep}`)]],
    [
      'an older content, by a keyframe beside the delta',
      [step('tea', 9, `keyframe = '${FORGED}'`)],
    ],
    [
      'an older content, by a keyframe alone',
      [step('tea', 9, `delta = null, keyframe = '${FORGED}'`)],
    ],
    [
      'a keyframe',
      [
        `update svc_revision set keyframe = '${FORGED}' where ${OF_ALICE} and file_no = ${fileNo('tea')} and keyframe is not null`,
      ],
    ],
    ['the content of a deleted file', [step('gone', 3, `keyframe = '${FORGED}'`)]],
    ['a content before a file was created', [step('tea', 1, `keyframe = '${FORGED}'`)]],
    [
      'the oldest content after a prune, by its delta',
      [step('pruned', 4, `delta = ${forgedStep}`)],
    ],
    [
      'the oldest content after a prune, by a keyframe',
      [step('pruned', 4, `delta = null, keyframe = '${FORGED}'`)],
    ],
    [
      'the oldest content after a prune, with its hash',
      [
        step('pruned', 4, `delta = null, keyframe = '${FORGED}'`),
        `update svc_pruned_revision set content_hash = ${bytes(hash('sha256', FORGED, 'buffer'))} where ${OF_ALICE} and content_hash is not null`,
      ],
    ],
    [
      'the oldest content after a prune, called redacted',
      [step('pruned', 4, `delta = null, keyframe = '\n\n', redacted_before = 1`)],
    ],
    ['the blank of a redacted content', [step('redacted', 4, `delta = ${forgedStep}`)]],
    [
      'the blank of a redacted content, by a keyframe',
      [step('redacted', 4, `delta = null, keyframe = '${FORGED}'`)],
    ],
    ['the content before a redacted one', [step('redacted', 3, `keyframe = '${FORGED}'`)]],
    [
      'the present content, called redacted',
      [
        `update svc_content set content = '${FORGED}' where ${OF_ALICE} and file_no = ${fileNo('tea')}`,
        `update svc_file set hash = ${bytes(hash('sha256', FORGED, 'buffer'))} where ${OF_ALICE} and path = 'tea.md'`,
        step('tea', 70, `redacted = 1, hash = ${hex('0'.repeat(64))}`),
      ],
    ],
  ])('is found by verify: %s', async (_name, statements) => {
    const database = await makeDatabase();
    await (await openWithTexts(database)).close();
    for (const sql of statements) expect(await database.run(sql)).toBeGreaterThan(0);
    const { findings } = await verifyAgain(database);
    expect(findings.map(({ invariant }) => invariant).join()).toMatch(/I1|I3|chain/);
    for (const { message } of findings) expect(message).not.toMatch(/forged|fact/);
  });

  it('is found in the history of before the chain, by the hash of its revision', async () => {
    const database = await makeDatabase();
    await (await openWithTexts(database)).close();
    await database.run(
      'update svc_revision set content_salt = null, previous_hash = null, chain_hash = null where redacted = 0',
    );
    await database.run(
      'update svc_revision set content_seal = null, chain_hash = null, previous_hash = null',
    );
    await database.run('delete from svc_pruned_revision');
    // PostgreSQL has no greatest of bytes.
    const newest =
      'select r.id from svc_revision r where r.scope_id = svc_scope.scope_id order by r.id desc limit 1';
    await database.run(`update svc_scope set chain_head = null, chain_after = (${newest})`);
    expect((await verifyAgain(database)).findings).toEqual([]);
    await database.run(step('tea', 9, `delta = null, keyframe = '${FORGED}'`));
    const { findings } = await verifyAgain(database);
    expect(findings.map(({ invariant }) => invariant)).toContain('I3');
  });
});

it('has the oldest text under a hash after each prune, also after a redaction of that text', async () => {
  const database = await makeDatabase();
  const core = await openWithTexts(database);
  const inspection = core.storage.inspection as NonNullable<Storage['inspection']>;
  const key = { scope: 'u:alice', path: 'pruned.md' } as const;
  const versionsOf = async () =>
    ((await inspection.bases?.(key)) ?? []).map((base) => base.version);
  expect(await versionsOf()).toEqual([3]);
  await core.revisions.prune({ keepLast: 1, path: 'users/alice/pruned.md' }, operator);
  expect(await versionsOf()).toEqual([5]);
  expect(await verifyMemory(core.storage)).toMatchObject({ found: 0, uncovered: 0 });
  const newest = await core.storage.revisions.ofVersion(key, 6);
  await core.revisions.redact(newest?.id ?? '', { reason: 'x', before: true }, operator);
  // The hash of a redacted text would say what it was.
  expect(await versionsOf()).toEqual([]);
  expect(await verifyMemory(core.storage)).toMatchObject({ found: 0, uncovered: 0 });
  await call(core, 'alice', 'memory_write', { path: 'user/pruned.md', content: 'goes on' });
  await core.indexer.drain();
  expect(await verifyMemory(core.storage)).toMatchObject({ found: 0, uncovered: 0 });
});

it('takes the base of a prune along to another service', async () => {
  const here = await openWithTexts(await makeDatabase());
  const exported = await exportAll(here);
  const there = await openCore({ storage: (await makeDatabase()).storage() });
  await importAll(there, exported);
  await there.indexer.drain();
  expect((await exportAll(there)).equals(exported)).toBe(true);
  expect(await verifyMemory(there.storage)).toMatchObject({ found: 0, uncovered: 0 });

  const entries = await unpack(exported);
  const forged = entries.map(({ path: name, content }) =>
    name === 'history/users/alice/pruned.md/1.jsonl'
      ? {
          path: name,
          content: Buffer.from(
            content
              .toString()
              .replace(
                /"delta":.{1,400}"keyframe":null\}\n$/,
                `"delta":null,"keyframe":"forged"}\n`,
              ),
          ),
        }
      : { path: name, content },
  );
  const other = await openCore({ storage: (await makeDatabase()).storage() });
  await expect(importAll(other, pack(forged))).rejects.toMatchObject({
    code: 'INVALID_ARCHIVE',
    message: expect.stringContaining('is not the one that was there') as string,
  });
});

it('covers what an earlier service pruned, says since when, and calls it no damage before', async () => {
  const database = await makeDatabase();
  const core = await openWithTexts(database);
  // As that service pruned.
  const seal: PruneOptions['seal'] = (scope, removed) => ({
    scope,
    pruned: removed.flatMap((revision) => toPruned(revision) ?? []),
  });
  const audit = () => ({
    id: '01900000-0000-7000-8000-000000000000',
    at: 1,
    action: 'x',
    target: 'all',
    details: {},
    operator: null,
    address: null,
    traceId: null,
  });
  await core.storage.revisions.prune(
    { keepLast: 2, path: { scope: 'u:alice', path: 'tea.md' } },
    { dryRun: false, audit, seal },
  );
  await core.close();
  await dropBases(database);

  const migrated = await openCore({ storage: database.storage() });
  const before = await verifyMemory(migrated.storage);
  expect(before).toMatchObject({ found: 0, uncovered: 1, coveredSince: null });
  const retention = createRetention({
    storage: migrated.storage,
    settings: { eventsDays: 0, accessLogDays: 0, revisionsDays: 0, dreamsDays: 0 },
    now: Date.now,
    ids: createIdSource(Date.now),
    log: quiet,
  });
  await retention.run();
  await migrated.indexer.drain();
  const after = await verifyMemory(migrated.storage);
  expect(after).toMatchObject({ found: 0, uncovered: 0 });
  expect(Date.parse(after.coveredSince ?? '')).toBeLessThanOrEqual(Date.now());
  const page = { limit: 9, order: 'asc', after: null } as const;
  const { items } = await migrated.storage.audit.list({ action: 'revisions.cover' }, page);
  expect(items.map(({ details }) => details)).toEqual([{ files: 1 }]);
  await retention.run();
  expect(
    (await migrated.storage.audit.list({ action: 'revisions.cover' }, page)).items,
  ).toHaveLength(1);
  // What is covered late goes along with an export, too.
  const there = await openCore({ storage: (await makeDatabase()).storage() });
  await importAll(there, await exportAll(migrated));
  expect(await verifyMemory(there.storage)).toMatchObject({
    uncovered: 0,
    coveredSince: after.coveredSince,
  });
  await migrated.close();

  expect(await database.run(step('tea', 69, `delta = null, keyframe = '${FORGED}'`))).toBe(1);
  const { findings } = await verifyAgain(database);
  expect(findings.map(({ message }) => message).join()).toContain(
    'than when older ones were pruned',
  );
});
