import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { type Core, createCore } from '../../../core/service.ts';
import { MemoryError } from '../../../core/errors.ts';
import { openCollection } from '../../../core/search/index/collection.ts';
import { expandQuery, listPrefixes } from '../../../core/search/rank/fuzzy.ts';
import { parseQuery } from '../../../core/search/rank/query.ts';
import { orderCandidates, rankCollection } from '../../../core/search/rank/rank.ts';
import { type GatedIndex, gateIndex } from '../../support/gated-index.ts';
import { findViolations, toLines } from '../../support/invariants.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { call } from '../../support/service.ts';
import { Segment } from '../../../core/search/index/segment.ts';
import { readPostings, toTextSegment, type WholeSegment } from '../../support/segments.ts';
import { toScopeIndex } from './rank/full-scan.ts';
import { encodeText, indexText } from '../../support/index-text.ts';
import { sqlite } from '../../support/databases.ts';
import { DATABASE, makeDatabase, openDatabase } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: 'a'.repeat(32) };
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const RUNS = isRelease ? 400 : DATABASE === undefined ? 4 : 2;
const REWRITES = isRelease ? 10_000 : 150;
const REWRITTEN = isRelease ? 300 : 25;
const KILLS = isRelease ? 100 : 2;
const LIMIT_MS = isRelease ? 1_800_000 : 240_000;

type Driver = 'sqlite3' | 'better-sqlite3' | 'mariadb' | 'postgres';
const DRIVERS: readonly Driver[] =
  DATABASE === undefined ? ['sqlite3', 'better-sqlite3'] : [DATABASE];

const isServer = (driver: Driver) => driver === 'mariadb' || driver === 'postgres';

/** A memory that goes through anything; `core` is another one after each restart. */
class World {
  /** An SQLite file, or the URL of a database. */
  readonly database: string;
  readonly driver: Driver;
  readonly warnings: string[] = [];
  core!: Core;
  gate!: GatedIndex;

  constructor(database: string, driver: Driver) {
    this.database = database;
    this.driver = driver;
  }

  async open(): Promise<void> {
    this.gate = gateIndex(this.#makeStorage());
    const warn = (_: object, message: string) => void this.warnings.push(message);
    this.core = createCore({
      storage: this.gate.storage,
      sharedWrites: true,
      tools: { delete: true, move: true },
      log: { debug: () => undefined, info: () => undefined, warn, error: warn },
    });
    await this.core.ready();
  }

  #makeStorage(): Storage {
    const { database, driver } = this;
    return isServer(driver)
      ? openDatabase(database)
      : sqlite({ filename: database, driver, synchronous: 'normal' });
  }

  async restart(): Promise<void> {
    await this.core.close();
    await this.open();
  }

  /**
   * Another process takes over, gets all of the calls at once, and is killed when it has answered so
   * many of them.
   */
  async writeAndKill(calls: readonly object[], answers: number): Promise<void> {
    await this.core.close();
    const program = fileURLToPath(new URL('../../support/indexing-writer.mjs', import.meta.url));
    const child = spawn(process.execPath, [program, this.database, this.driver], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    let heard = 0;
    // What is in flight when it ends has nobody to take it.
    child.stdin.on('error', () => undefined);
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === 'ready') {
        child.stdin.write(calls.map((own) => `${JSON.stringify(own)}\n`).join(''));
      } else {
        // So many at once may have to wait for longer than they do.
        expect(['done', ...REFUSALS, 'STORAGE_UNAVAILABLE']).toContain(line);
        heard += 1;
      }
      if (heard === answers) child.kill('SIGKILL');
    }
    const [, signal] = (await ended) as [number | null, string | null];
    expect([signal, heard >= answers]).toEqual(['SIGKILL', true]);
    await this.open();
  }

  /** Indexes until nothing is behind, or until a fate stops it. */
  async index(fates: GatedIndex['fates'] = []): Promise<void> {
    this.gate.fates = [...fates];
    this.gate.isOpen = true;
    await this.core.indexer.drain().catch((error: unknown) => {
      if (!(error instanceof MemoryError) || error.code !== 'STORAGE_UNAVAILABLE') throw error;
    });
    this.gate.isOpen = false;
    this.gate.fates = [];
  }
}

async function openWorld(driver: Driver): Promise<World> {
  const world = new World(await makeDatabase(), driver);
  await world.open();
  onTestFinished(() => world.core.close());
  return world;
}

interface Text {
  path: string;
  content: string;
}

/** Every file that a user can see, through the tools. */
async function readAll({ core }: World, user: string): Promise<Text[]> {
  const texts: Text[] = [];
  let cursor: string | null = null;
  do {
    const page: { files: { path: string }[]; nextCursor: string | null } = (
      await call<{ files: { path: string }[]; nextCursor: string | null }>(
        core,
        user,
        'memory_list',
        { limit: 500, ...(cursor === null ? {} : { cursor }) },
      )
    ).result;
    for (const file of page.files) {
      const { result } = await call<Text>(core, user, 'memory_read', { path: file.path });
      texts.push({ path: file.path, content: result.content });
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return texts;
}

interface Asked {
  query: string;
  group: 'file' | 'passage';
  limit: number;
  path?: string;
}

/** What a search that knows no index answers: all texts are read and ranked for the question. */
async function scan(texts: readonly Text[], { query, group, limit, path: prefix = '' }: Asked) {
  const files = texts.map((text) => ({
    ...text,
    indexed: indexText(text.content, text.path.slice(text.path.indexOf('/') + 1)),
  }));
  const collection = openCollection(
    ['user/', 'shared/'].map((root) =>
      toScopeIndex({
        rows: [],
        replaced: new Map(
          files.flatMap(({ path: own, indexed }, file) =>
            own.startsWith(root) ? [[file, encodeText(indexed)] as const] : [],
          ),
        ),
      }),
    ),
  );
  const pathOf = ({ file }: { file: number }): string => files[file]?.path ?? '';
  const rank = async (asked: ReturnType<typeof parseQuery>) =>
    await rankCollection(asked, collection, {
      group,
      limit,
      includes: (file) => pathOf(file).startsWith(prefix),
    });
  const parsed = parseQuery(query);
  let ranking = await rank(parsed);
  if (ranking.candidates.length === 0) {
    const prefixes = listPrefixes(parsed);
    const terms = files.flatMap(({ indexed }) => [...indexed.terms.keys()]);
    const expanded = expandQuery(
      parsed,
      terms.filter((term) => prefixes.some((start) => term.startsWith(start))),
    );
    if (expanded !== null) ranking = await rank(expanded);
  }
  const ordered = orderCandidates(ranking.candidates, pathOf, limit);
  const found = ordered.map(async (candidate) => {
    const place = files[candidate.file]?.indexed.passages[candidate.passage];
    return {
      path: pathOf(candidate),
      score: candidate.score,
      startLine: place?.startLine,
      endLine: place?.endLine,
      signals: await ranking.explain(candidate),
    };
  });
  return await Promise.all(found);
}

async function find({ core }: World, user: string, asked: Asked) {
  const { result } = await call<{
    results: {
      path: string;
      score: number;
      startLine: number;
      endLine: number;
      signals: unknown;
      snippet: string;
    }[];
  }>(core, user, 'memory_find', { ...asked, explain: true });
  return result.results;
}

const WORDS =
  'tea green black cup ann bob went go garden gardens multi-agent multiAgent agents 猫が好き 東京 ist nicht und v1.2 the who is IT'.split(
    ' ',
  );
const sentence = fc
  .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 })
  .map((words) => words.join(' '));
const line = fc.oneof(
  { weight: 4, arbitrary: sentence },
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: sentence.map((text) => `## ${text}`) },
  { weight: 2, arbitrary: sentence.map((text) => `- ${text}`) },
);
const content = fc.array(line, { maxLength: 8 }).map((lines) => lines.join('\n'));
const NAMES = ['a.md', 'b.md', 'notes/a.md', 'notes/tea.md', 'notes.md', 'x_y.md'];
const file = fc
  .tuple(fc.constantFrom('user/', 'user/', 'user/', 'shared/'), fc.constantFrom(...NAMES))
  .map(([root, name]) => root + name);
const fate = fc.constantFrom('done' as const, 'lost' as const, 'unheard' as const);

/** What a memory goes through. The service has no erasure of a user yet: that is a step to come. */
type Step =
  | { do: 'write'; path: string; content: string }
  | { do: 'append'; path: string; content: string }
  | { do: 'move'; path: string; to: string }
  | { do: 'delete'; path: string }
  | { do: 'revert'; nth: number }
  | { do: 'many'; count: number }
  | { do: 'index'; fates: GatedIndex['fates'] }
  | { do: 'race'; path: string; content: string }
  | { do: 'restart' }
  | { do: 'find'; asked: Asked };

const asked = fc.record(
  {
    query: fc.oneof(
      { weight: 8, arbitrary: sentence },
      {
        weight: 1,
        arbitrary: fc.constantFrom('gaarden', 'agnets', 'grene', 'zebra', '', 'The Who', 'IT'),
      },
    ),
    group: fc.constantFrom('file' as const, 'passage' as const),
    limit: fc.integer({ min: 1, max: 12 }),
    path: fc.constantFrom('user/', 'shared/', 'user/notes', 'user/notes/', 'shared/x_', 'user/q'),
  },
  { requiredKeys: ['query', 'group', 'limit'] },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), path: file, content }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('append' as const), path: file, content }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('move' as const), path: file, to: file }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), path: file }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('revert' as const), nth: fc.nat(10) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('many' as const),
      count: fc.integer({ min: 1, max: 70 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('index' as const),
      fates: fc.array(fate, { maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('race' as const), path: file, content }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
  { weight: 8, arbitrary: asked.map((own) => ({ do: 'find' as const, asked: own })) },
);

/** What a process that is to be killed is called with. */
const killedCall = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      tool: fc.constant('memory_write'),
      args: fc.record({ path: file, content }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      tool: fc.constant('memory_patch'),
      args: fc.record({ path: file, append: content.map((text) => ({ text })) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      tool: fc.constant('memory_move'),
      args: fc.record({ from: file, to: file }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ tool: fc.constant('memory_delete'), args: fc.record({ path: file }) }),
  },
  { weight: 1, arbitrary: fc.record({ tool: fc.constant('drain'), args: fc.constant({}) }) },
);

/** What a step may be refused with: there is no such file, or there is one already. */
const REFUSALS = ['FILE_NOT_FOUND', 'VERSION_CONFLICT', 'INVALID_REQUEST'];

async function take(world: World, user: string, step: Exclude<Step, { do: 'find' }>) {
  const { core } = world;
  try {
    switch (step.do) {
      case 'write':
        return void (await call(core, user, 'memory_write', {
          path: step.path,
          content: step.content,
        }));
      case 'append':
        return void (await call(core, user, 'memory_patch', {
          path: step.path,
          append: { text: step.content },
        }));
      case 'move':
        return void (await call(core, user, 'memory_move', { from: step.path, to: step.to }));
      case 'delete':
        return void (await call(core, user, 'memory_delete', { path: step.path }));
      case 'revert': {
        const { items } = await core.revisions.list({ userId: user });
        const revision = items[step.nth % Math.max(1, items.length)];
        if (revision !== undefined) await core.revisions.revert(revision.id, {}, operator);
        return;
      }
      case 'many':
        await Promise.all(
          Array.from({ length: step.count }, (_, number) =>
            call(core, user, 'memory_write', {
              path: `user/m/${number}.md`,
              content: `${WORDS[number % WORDS.length] ?? ''} tea\n\n- cup ${step.count}\n`,
            }),
          ),
        );
        return;
      case 'index':
        return await world.index(step.fates);
      case 'race':
        // Writes come while the file that they change is being indexed.
        await Promise.all([
          world.index(),
          ...Array.from({ length: 6 }, (_, number) =>
            call(core, user, 'memory_write', {
              path: step.path,
              content: `${step.content}\ncup ${number}`,
            }),
          ),
        ]);
        return;
      case 'restart':
        return await world.restart();
    }
  } catch (error) {
    if (!(error instanceof MemoryError) || !REFUSALS.includes(error.code)) throw error;
  }
}

async function compare(world: World, user: string, given: Asked): Promise<void> {
  const question = { ...given, query: given.query === '' ? '?' : given.query };
  const texts = await readAll(world, user);
  const found = await find(world, user, question);
  expect(
    found.map(({ path: own, score, startLine, endLine, signals }) => ({
      path: own,
      score,
      startLine,
      endLine,
      signals,
    })),
  ).toEqual(await scan(texts, question));
  for (const { path: own, snippet } of found) {
    expect(texts.find((text) => text.path === own)?.content).toContain(snippet);
  }
}

/** All postings of scopes are those that are made anew from their files. */
async function checkIndex({ database, driver }: World, scopes: readonly string[]): Promise<void> {
  if (isServer(driver)) {
    expect(toLines(await findViolations(database, { isIndexed: true }))).toEqual([]);
    return;
  }
  for (const scope of scopes) {
    const { stored, anew } = await readIndex(database, driver, scope);
    expect(stored).toEqual(anew);
  }
}

/** The payloads of all files of a scope by SQL, and those made anew from its files. */
async function readIndex(filename: string, driver: 'sqlite3' | 'better-sqlite3', scope: string) {
  return await withRawSql(filename, driver, async (connection) => {
    const files = await connection.all(
      'select f.file_no, f.path, c.content from svc_scope s join svc_file f using (scope_id)' +
        ' join svc_content c using (scope_id, file_no)' +
        ' where s.scope = ? and f.deleted_at is null',
      [scope],
    );
    const heads = await connection.all(
      'select g.segment, g.head from svc_scope s join svc_segment g using (scope_id)' +
        ' where s.scope = ? order by g.segment',
      [scope],
    );
    const segments: WholeSegment[] = [];
    for (const { segment: id, head } of heads) {
      const rows = await connection.all(
        'select bytes from svc_segment_block where segment = ? order by block',
        [Number(id)],
      );
      const segment = Segment.read(Number(id), head as Uint8Array) ?? expect.fail();
      segments.push({ segment, blocks: rows.map(({ bytes }) => bytes as Uint8Array) });
    }
    const anew = files.map(
      (own) =>
        [Number(own['file_no']), indexText(String(own['content']), String(own['path']))] as const,
    );
    return { stored: readPostings(segments), anew: readPostings([toTextSegment(1, anew)]) };
  });
}

describe.each(DRIVERS)('with %s', (driver) => {
  it(
    'memory_find equals a full scan after any sequence of changes, and the index is exact',
    async () => {
      const world = await openWorld(driver);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 5, maxLength: 30 }),
          asked,
          async (steps, last) => {
            const user = `user-${(runs += 1)}`;
            for (const one of steps) {
              if (one.do === 'find') await compare(world, user, one.asked);
              else await take(world, user, one);
            }
            await compare(world, user, last);
            await world.index();
            await compare(world, user, last);
            await checkIndex(world, [`u:${user}`, 's']);
          },
        ),
        { numRuns: RUNS, endOnFailure: true },
      );
      // No way of getting here spoils the index: what was lost was behind, and is done again.
      expect(world.warnings.filter((message) => message.includes('damaged'))).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'memory_find equals a full scan after kills in the midst of writes and indexing, and the index is mended',
    async () => {
      const world = await openWorld(driver);
      let kills = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(killedCall, { minLength: 20, maxLength: 40 }),
          fc.integer({ min: 1, max: 19 }),
          fc.array(asked, { minLength: 2, maxLength: 2 }),
          async (calls, answers, questions) => {
            // A few users, so that most kills meet files with postings of an earlier one.
            const user = `killed-${(kills += 1) % 3}`;
            const own = calls.map((one) => ({ ...one, userId: user }));
            await world.writeAndKill(own, answers);
            for (const question of questions) await compare(world, user, question);
            await world.index();
            for (const question of questions) await compare(world, user, question);
            await checkIndex(world, [`u:${user}`, 's']);
          },
        ),
        { numRuns: KILLS, endOnFailure: true },
      );
      expect(world.warnings.filter((message) => message.includes('damaged'))).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'memory_find equals a full scan after many rewrites and deletions, and segments stay few',
    async () => {
      const world = await openWorld(driver);
      const user = 'rewriter';
      const text = (n: number) =>
        Array.from({ length: 12 }, (_, at) => WORDS[(n * 7 + at * (n % 5)) % WORDS.length]).join(
          ' ',
        );
      const act = (tool: string, args: object) => call(world.core, user, tool, args);
      const questions: Asked[] = [
        { query: 'green tea garden', group: 'file', limit: 12 },
        { query: 'gaarden', group: 'passage', limit: 12 },
      ];
      for (let n = 0; n < REWRITES; n += 1) {
        const path = `user/${(n * 13) % REWRITTEN}.md`;
        if (n % 11 === 10) {
          await act('memory_delete', { path }).catch((error: unknown) => {
            if (!(error instanceof MemoryError) || error.code !== 'FILE_NOT_FOUND') throw error;
          });
        } else await act('memory_write', { path, content: `${text(n)}\n\n- cup ${n}\n` });
        if (n % 3 === 0) await world.index();
      }
      await world.index();
      for (const question of questions) await compare(world, user, question);
      await checkIndex(world, [`u:${user}`]);
      const [opened] = await world.core.storage.index.snapshot((view) => view.open([`u:${user}`]));
      expect(opened?.segments?.length).toBeLessThanOrEqual(8);
      // What is purged has no copy left that does not count.
      world.gate.isOpen = true;
      await world.core.indexer.purge(`u:${user}`);
      world.gate.isOpen = false;
      for (const question of questions) await compare(world, user, question);
      await checkIndex(world, [`u:${user}`]);
      expect(world.warnings.filter((message) => message.includes('damaged'))).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "a user's results depend on nobody else's texts",
    async () => {
      const world = await openWorld(driver);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(content, { minLength: 1, maxLength: 6 }),
          fc.array(content, { minLength: 10, maxLength: 10 }),
          fc.array(asked, { minLength: 3, maxLength: 3 }),
          fc.boolean(),
          async (own, others, questions, isIndexed) => {
            const user = `own-${(runs += 1)}`;
            const write = (userId: string, number: number, text: string) =>
              call(world.core, userId, 'memory_write', {
                path: `user/${NAMES[number % NAMES.length] ?? ''}`,
                content: text,
              });
            for (const [number, text] of own.entries()) await write(user, number, text);
            if (isIndexed) await world.index();
            const ask = () =>
              Promise.all(
                questions.map((one) => find(world, user, { ...one, query: one.query || 'tea' })),
              );
            const before = await ask();
            for (const [number, text] of others.entries()) {
              await write(`other-${runs}-${number}`, number, text);
              await write(`${user}${'ABab.-_~:+'[number] ?? ''}`, number, text);
            }
            expect(await ask()).toEqual(before);
            if (isIndexed) await world.index();
            expect(await ask()).toEqual(before);
          },
        ),
        { numRuns: Math.ceil(RUNS / 2), endOnFailure: true },
      );
    },
    LIMIT_MS,
  );
});
