import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HygieneFinding } from '../../../../core/contracts/admin.ts';
import { type Core, createCore } from '../../../../core/service.ts';
import { accessRow, write } from '../../../support/rows.ts';
import { toTime } from '../../../../core/time/time.ts';
import { sharedMariadb } from '../../../support/mariadb.ts';
import { createDatabase } from '../../../support/mariadb-server.ts';
import { mysql, sqlite } from '../../../support/databases.ts';

const NOW = Date.UTC(2026, 0, 20, 12);
const DAY = 24 * 60 * 60 * 1000;
const FIRST = NOW - 15 * DAY;
const USERS = ['alice', 'bob', 'Alice'];
const TOOLS = ['memory_write', 'memory_patch', 'memory_remember', null];
const PATHS = ['a.md', 'b.md', 'index.md', 'log.md', 'dir/c.md', 'dir/d.md', 'daily-log.md'];
const LEAKED = 'The token is ghp_a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2';
/** Larger than a model should be given at once; a table's rows are compared with nothing. */
const LARGE = '| a cell | another one |\n'.repeat(1_400);

/** Each line says what it is, so that a recount needs none of the rules' own code. */
const LINES = [
  'Drinks a cup of green tea every single morning at home',
  'Drinks a cup of green tea every single morning at work',
  'Has a cat that is called Mia',
  'Goes to the market on foot and back by bus',
  'Home airport: Oslo',
  'Home airport: Bergen',
  'Seat: aisle',
  LEAKED,
  '[to a](user/a.md)',
  '[to c](user/dir/c.md)',
  '[to nowhere](user/gone.md)',
  '[to shared](shared/house.md)',
  '[to no shared](shared/gone.md)',
];

interface MemoryFile {
  user: string;
  path: string;
  /** Under one heading each; the first line of the file is the first heading. */
  sections: { heading: string; lines: string[] }[];
  isLarge: boolean;
  createdAt: number;
  updatedAt: number;
  tool: string | null;
  isRead: boolean;
}

const fileOf = fc.record({
  sections: fc.array(
    fc.record({
      heading: fc.constantFrom('Travel', 'Home'),
      lines: fc.array(fc.constantFrom(...LINES), { minLength: 3, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  isLarge: fc.constantFrom(true, false, false, false),
  createdAt: fc.integer({ min: FIRST, max: NOW - DAY }),
  age: fc.integer({ min: 0, max: DAY }),
  tool: fc.constantFrom(...TOOLS),
  isRead: fc.boolean(),
});

const memory: MemoryFile[] = fc
  .sample(fc.array(fileOf, { minLength: 18, maxLength: 18 }), { numRuns: 1, seed: 20260120 })
  .flat()
  .map(({ age, ...file }, n) => ({
    ...file,
    user: USERS[n % USERS.length] as string,
    path: PATHS[Math.floor(n / USERS.length) % PATHS.length] as string,
    updatedAt: file.createdAt + age,
  }));

const toText = ({ sections, isLarge }: MemoryFile) =>
  sections.map(({ heading, lines }) => `# ${heading}\n${lines.join('\n')}\n`).join('') +
  (isLarge ? LARGE : '');

const query = fc.record(
  {
    since: fc.integer({ min: FIRST, max: NOW }),
    until: fc.integer({ min: FIRST, max: NOW }),
    tool: fc.constantFrom('memory_write', 'memory_patch', 'memory_remember', 'memory_find'),
  },
  { requiredKeys: [] },
);

async function open(name: 'sqlite' | 'mysql'): Promise<Core> {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-service-'));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const storage =
    name === 'mysql'
      ? mysql({ url: await createDatabase(await sharedMariadb()) })
      : sqlite({ filename: path.join(directory, 'memory.db') });
  const core = createCore({ storage, now: () => NOW });
  await core.ready();
  await write(storage, { scope: 's', path: 'house.md' }, 'Rules.\n');
  for (const file of memory) {
    const key = { scope: `u:${file.user}`, path: file.path } as const;
    await write(storage, key, 'first\n', { at: file.createdAt, tool: 'memory_write' });
    await write(storage, key, toText(file), { at: file.updatedAt, tool: file.tool });
    if (!file.isRead) continue;
    const kept = await storage.files.read(key);
    const access = [accessRow(key.scope, { path: file.path, fileNo: kept?.fileNo ?? null })];
    await storage.log.append({ access, events: [] });
  }
  return core;
}

/** Lines of files with their numbers and headings, as a reader counts them. */
function linesOf(file: MemoryFile) {
  let number = 0;
  return file.sections.flatMap(({ heading, lines }) => {
    number += 1;
    const said = lines.length === 0 ? [''] : lines;
    return said.map((text) => ({ file, heading, text, number: (number += 1) }));
  });
}

const isLog = ({ path: file }: MemoryFile) => file.endsWith('log.md');

/** Each finding as its kind and its places. */
function recount(user: string, asked: { since?: number; until?: number; tool?: string }): string[] {
  const own = memory.filter((file) => file.user === user);
  const files = own
    .filter(({ updatedAt }) => updatedAt >= (asked.since ?? 0) && updatedAt < (asked.until ?? NOW))
    .filter(({ tool }) => asked.tool === undefined || tool === asked.tool)
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const found: string[] = [];
  const tell = (kind: string, places: readonly { file: MemoryFile; number?: number }[]) => {
    const byFile = new Map<string, number[]>();
    for (const { file, number } of places) {
      const numbers = byFile.get(file.path) ?? [];
      byFile.set(file.path, [...numbers, ...(number === undefined ? [] : [number])]);
    }
    found.push(
      `${kind} ${[...byFile].map(([name, numbers]) => `users/${user}/${name}:${numbers.join()}`).join(' ')}`,
    );
  };
  const groups = <T>(items: readonly T[], toKey: (item: T) => string): T[][] => {
    const map = new Map<string, T[]>();
    for (const item of items) map.set(toKey(item), [...(map.get(toKey(item)) ?? []), item]);
    return [...map.values()];
  };

  for (const file of files) {
    if (Buffer.byteLength(toText(file)) > 32 * 1024) tell('oversized', [{ file }]);
    const isOld = NOW - file.createdAt > 7 * DAY;
    if (!file.isRead && isOld && !isLog(file) && file.path !== 'index.md') {
      tell('never_read', [{ file }]);
    }
    const secrets = linesOf(file).filter(({ text }) => text === LEAKED);
    if (secrets.length > 0) tell('secret', secrets);
  }

  const lines = files.filter((file) => !isLog(file)).flatMap(linesOf);
  const isThere = (to: string) =>
    to === 'shared/house.md' || own.some((file) => `user/${file.path}` === to);
  const links = lines.flatMap((line) => {
    const to = /\((.*)\)$/.exec(line.text)?.[1];
    return to === undefined ? [] : [{ ...line, to }];
  });
  const broken = links.filter(({ to }) => !isThere(to));
  for (const group of groups(broken, ({ file, to }) => `${file.path} ${to}`)) {
    tell(group[0]?.file.path === 'index.md' ? 'stale_catalog' : 'broken_link', group);
  }
  const catalog = files.find((file) => file.path === 'index.md');
  for (const file of catalog === undefined ? [] : files) {
    const isListed = links.some((link) => link.file === catalog && link.to === `user/${file.path}`);
    if (file !== catalog && !isLog(file) && !isListed) tell('missing_from_catalog', [{ file }]);
  }

  const facts = lines.filter(({ text }) => /^[\w ]+: /.test(text));
  for (const group of groups(facts, ({ heading, text }) => `${heading} ${text.split(':')[0]}`)) {
    if (new Set(group.map(({ text }) => text)).size > 1) tell('contradiction', group);
  }
  const wordsOf = (text: string) => new Set(text.toLowerCase().match(/\w+/g));
  const sentences = lines.filter(({ text }) => (text.match(/\w+/g) ?? []).length >= 4);
  const repeated = groups(sentences, ({ text }) => text);
  for (const group of repeated) if (group.length > 1) tell('duplicate_line', group);
  for (const [at, [line]] of repeated.entries()) {
    const like = repeated.slice(0, at).find(([other]) => {
      const [one, two] = [wordsOf(line?.text ?? ''), wordsOf(other?.text ?? '')];
      const shared = [...one].filter((word) => two.has(word)).length;
      return shared / (one.size + two.size - shared) >= 0.8;
    });
    if (like?.[0] !== undefined && line !== undefined) tell('similar_line', [like[0], line]);
  }
  return found.toSorted();
}

const toWords = ({ kind, places }: HygieneFinding) =>
  `${kind} ${places.map(({ path: file, lines }) => `${file}:${lines.join()}`).join(' ')}`;

describe.each([
  ['SQLite', 'sqlite'],
  ['MariaDB', 'mysql'],
] as const)('on %s, the hygiene of a user equals a recount of each file and line', (_, name) => {
  let core: Core;
  beforeAll(async () => {
    core = await open(name);
  });
  afterAll(() => core.close());

  it('for any user, range of last writes, and tool that wrote', async () => {
    const kinds = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...USERS), query, async (userId, asked) => {
        const { since, until, tool } = asked;
        const report = await core.observability.hygiene({
          userId,
          ...(since === undefined ? {} : { since: toTime(since) }),
          ...(until === undefined ? {} : { until: toTime(until) }),
          ...(tool === undefined ? {} : { tool }),
        });
        expect(report.findings.map(toWords).toSorted()).toEqual(recount(userId, asked));
        expect(report.omitted).toBe(0);
        for (const { kind } of report.findings) kinds.add(kind);
      }),
      // All of each memory is among them, whatever chance brings.
      { numRuns: 40, examples: USERS.map((userId) => [userId, {}]) },
    );
    // A recount that finds nothing would agree with a report of nothing.
    expect([...kinds].toSorted()).toEqual([
      'broken_link',
      'contradiction',
      'duplicate_line',
      'missing_from_catalog',
      'never_read',
      'oversized',
      'secret',
      'similar_line',
      'stale_catalog',
    ]);
  });
});
