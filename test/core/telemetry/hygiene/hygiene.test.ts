import { createScreening } from '../../../../core/screening/screening.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HygieneFinding, HygieneKind } from '../../../../core/contracts/admin.ts';
import { findContradictions } from '../../../../core/telemetry/hygiene/fact-findings.ts';
import { readStructure } from '../../../../core/markdown/structure.ts';
import { readLines as readLinesOf } from '../../../../core/telemetry/hygiene/line.ts';
import { findRepeatedLines } from '../../../../core/telemetry/hygiene/line-findings.ts';
import { findSecrets } from '../../../../core/telemetry/hygiene/secret-findings.ts';
import { manualClock } from '../../../support/clock.ts';
import { call, openCore } from '../../../support/service.ts';

const DAY = 24 * 60 * 60 * 1000;
const ADMIN = { address: '127.0.0.1', traceId: '0af7651916cd43dd8448eb211c80319c' };

/** The report on alice after these files were written, some days later. */
async function check(files: Record<string, string>, { days = 0 } = {}) {
  const clock = manualClock();
  const core = await openCore({ now: clock.now, sharedWrites: true });
  for (const [path, content] of Object.entries(files)) {
    await call(core, 'alice', 'memory_write', { path, content });
  }
  clock.advance(days * DAY);
  const report = await core.observability.hygiene({ userId: 'alice' });
  const of = (kind: HygieneKind) => report.findings.filter((finding) => finding.kind === kind);
  return { report, of, core, clock };
}

const readLines = (path: string, content: string) =>
  readLinesOf(path, content, readStructure(content));

const placesOf = (findings: readonly HygieneFinding[]) => findings.map(({ places }) => places);

describe('the hygiene of a user’s memory', () => {
  it('finds nothing in a memory that is in order', async () => {
    const { report } = await check({
      'user/index.md': '# Index\n\n- [Profile](profile.md)\n- [[projects/tea]]\n',
      'user/profile.md': '# Profile\n\nLikes tea in the morning.\n\nSee [tea](projects/tea.md).\n',
      'user/projects/tea.md': '# Tea\n\nAssam, second flush, with milk.\n',
      'user/log.md': '- wrote a line about it\n- wrote a line about it\n- [gone](gone.md)\n',
    });
    expect(report).toMatchObject({ findings: [], counts: {}, omitted: 0, filesChecked: 4 });
  });

  it('reads lines and links where the markdown has text', async () => {
    const code = 'Likes tea in the morning.\nkey: one [gone](gone.md) `[gone](gone.md)`\n';
    const { report } = await check({
      'user/a.md': [
        ...['\uFEFF---', 'key: one', 'see: [[gone]]', '---', '', '~~~~', '```', code, '~~~~', ''],
        ...[
          '<!--',
          code,
          '-->',
          '',
          `    ${code.replaceAll('\n', '\n    ')}`,
          '',
          'Title',
          '---',
          '',
        ],
        ...['- ```', `  ${code.replaceAll('\n', '\n  ')}`, '  ```', '', '`[x](gone.md)`', ''],
      ].join('\r\n'),
    });
    expect(report.findings).toEqual([]);
    const lines = [...readLines('a', 'A\n===\none: 1\n# B\rtwo: 2\r\n> # C\n')];
    expect(lines.map(({ number, heading, text }) => [number, heading, text])).toEqual([
      [3, 'A', 'one: 1'],
      [4, 'B', 'two: 2'],
    ]);
  });

  it('is the same when it is asked for again, and sees what was written, read or removed since', async () => {
    const { core, report, clock } = await check(
      { 'user/a.md': 'Likes tea in the morning.\n', 'user/b.md': 'Likes tea in the morning.\n' },
      { days: 8 },
    );
    const again = () => core.observability.hygiene({ userId: 'alice' });
    expect(report.counts).toEqual({ duplicate_line: 1, never_read: 2 });
    expect(await again()).toEqual(report);
    // What a person tries in the Playground is no use by an agent.
    await core.tools.executeAs(
      'memory_read',
      { context: { userId: 'alice' }, arguments: { path: 'user/a.md' } },
      { actor: 'playground' },
    );
    expect((await again()).counts).toEqual({ duplicate_line: 1, never_read: 2 });
    await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    expect((await again()).counts).toEqual({ duplicate_line: 1, never_read: 1 });
    await call(core, 'alice', 'memory_write', { path: 'user/b.md', content: '[c](c.md)\n' });
    expect((await again()).counts).toEqual({ broken_link: 1, never_read: 1 });
    await call(core, 'alice', 'memory_write', { path: 'user/c.md', content: 'Tea.\n' });
    expect((await again()).counts).toEqual({ never_read: 1 });
    clock.advance(8 * DAY);
    expect((await again()).counts).toEqual({ never_read: 2 });
  });

  it('is counted for all users, page by page, with its severities', async () => {
    const { core, report } = await check({
      'user/a.md': 'Likes tea in the morning.\n\nSee [gone](gone.md).\n',
      'user/b.md': 'Likes tea in the morning.\n',
    });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: 'Tea.\n' });
    const { filesChecked, files, counts, severities } = report;
    const { high, medium, low } = severities;
    expect(high + medium + low).toBe(Object.values(counts).reduce((sum, one) => sum + one, 0));
    const alice = { userId: 'alice', spaceId: null, filesChecked, files, counts, severities };
    const bob = {
      userId: 'bob',
      spaceId: null,
      filesChecked: 1,
      files: 1,
      counts: {},
      severities: { high: 0, medium: 0, low: 0 },
    };
    expect((await core.observability.hygieneOf('users', {})).items).toEqual([alice, bob]);
    const first = await core.observability.hygieneOf('users', { limit: 1 });
    expect(first.items).toEqual([alice]);
    const cursor = first.nextCursor ?? '';
    expect(await core.observability.hygieneOf('users', { limit: 1, cursor })).toEqual({
      items: [bob],
      nextCursor: null,
    });
    expect((await core.observability.hygieneOf('users', { q: 'OB' })).items).toEqual([bob]);
  });

  it('finds catalog entries that lead nowhere, and files that the catalog lacks', async () => {
    const { of } = await check({
      'user/index.md': '# Index\n\n- [Profile](profile.md)\n- [Old](old.md)\n- [[old]]\n',
      'user/profile.md': 'Likes tea.\n',
      'user/new/plan.md': 'A plan.\n',
      'user/dream-log.md': 'Not to be listed.\n',
    });
    expect(placesOf(of('stale_catalog'))).toEqual([
      [{ path: 'users/alice/index.md', lines: [4, 5] }],
    ]);
    expect(placesOf(of('missing_from_catalog'))).toEqual([
      [{ path: 'users/alice/new/plan.md', lines: [] }],
    ]);
  });

  it('finds links to files that do not exist, in the user’s memory and in the shared one', async () => {
    const { of } = await check({
      'shared/house.md': 'Rules.\n',
      'user/a.md':
        '[b](b.md) and [house](shared/house.md)\n\n[gone](/shared/gone.md) [x](dir/x.md)\n',
      'user/b.md': '[site](https://example.org/a.md) [a](./a.md) [up](../../etc/passwd)\n',
    });
    const messages = of('broken_link').map(({ message, places }) => [message, places]);
    expect(messages).toEqual([
      [
        'A link leads to users/alice/shared/gone.md, which does not exist.',
        [{ path: 'users/alice/a.md', lines: [3] }],
      ],
      [
        'A link leads to users/alice/dir/x.md, which does not exist.',
        [{ path: 'users/alice/a.md', lines: [3] }],
      ],
    ]);
  });

  it('finds lines that stand there twice, and lines that are nearly the same', async () => {
    const { of } = await check({
      'user/a.md':
        '# Tea\n\n- Drinks green tea every single morning at home\n- Has a cat called Mia\n',
      'user/b.md':
        '* drinks **green tea** every single morning at home.\n\nDrinks green tea every single morning at home, always\n',
      'user/c.md':
        '```\nHas a cat called Mia\n```\n| Has | a | cat | called Mia |\n# Has a cat called Mia\n',
    });
    expect(placesOf(of('duplicate_line'))).toEqual([
      [
        { path: 'users/alice/a.md', lines: [3] },
        { path: 'users/alice/b.md', lines: [1] },
      ],
    ]);
    expect(placesOf(of('similar_line'))).toEqual([
      [
        { path: 'users/alice/a.md', lines: [3] },
        { path: 'users/alice/b.md', lines: [3] },
      ],
    ]);
  });

  it('finds keys with several values, under one heading or under the same one elsewhere', async () => {
    const { of } = await check({
      'user/a.md': '# Travel\n\n- **Home airport**: Oslo\n- Seat: aisle\n\n## Work\n\nDesk: 4\n',
      'user/b.md': '# Travel\n\nHome airport: Bergen\nSeat: Aisle.\n\n## Home\n\nDesk: 5\n',
      'user/c.md':
        '# Limits\n\nDaily limit: 5\nDaily limit: 7\nStatus: done\nStatus: open\n10:30: x\n10:30: y\n',
    });
    expect(of('contradiction').map(({ severity, places }) => [severity, places])).toEqual([
      ['high', [{ path: 'users/alice/c.md', lines: [3, 4] }]],
      [
        'medium',
        [
          { path: 'users/alice/a.md', lines: [3] },
          { path: 'users/alice/b.md', lines: [3] },
        ],
      ],
    ]);
  });

  it('finds files that are too large, and files that were written and never read', async () => {
    const files = {
      'user/large.md': `${'a word of it\n'.repeat(4_000)}`,
      'user/read.md': 'Read now and then.\n',
      'user/unread.md': 'Never.\n',
    };
    const young = await check(files, { days: 6 });
    expect(young.of('never_read')).toEqual([]);
    const { of, core, clock } = await check(files);
    await call(core, 'alice', 'memory_read', { path: 'user/read.md' });
    await call(core, 'alice', 'memory_read', { path: 'user/large.md' });
    clock.advance(8 * DAY);
    const { findings } = await core.observability.hygiene({ userId: 'alice' });
    const unread = findings.filter(({ kind }) => kind === 'never_read');
    expect(placesOf(unread)).toEqual([[{ path: 'users/alice/unread.md', lines: [] }]]);
    expect(placesOf(of('oversized'))).toEqual([[{ path: 'users/alice/large.md', lines: [] }]]);
  });

  it('finds what looks like a secret, and says where without saying it', async () => {
    const secrets = [
      '-----BEGIN OPENSSH PRIVATE KEY-----',
      `aws AKIA${'A1B2'.repeat(4)}`,
      `token ghp_${'a1'.repeat(18)}`,
      `the key is sk-${'x9'.repeat(12)}`,
      `AIza${'Sy1_'.repeat(9)}`,
      'postgres://anna:hunter22@db.example.org/x',
      'Password: hunter2-is-it',
      'the API key is `abc123def456`',
      `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${'s'.repeat(20)}`,
    ];
    const harmless = [
      'The password is kept in the safe.',
      'Password: see the vault',
      'Ask for the secret: it is a surprise party',
      'https://example.org/a:b@c',
      'Uses sk-learn and skiing.',
    ];
    const { report, of } = await check({
      'user/a.md': [...harmless, ...secrets].map((line) => `- ${line}`).join('\n'),
    });
    const lines = of('secret').flatMap(({ places }) => places.flatMap((place) => place.lines));
    expect(lines.toSorted((a, b) => a - b)).toEqual(
      secrets.map((_, index) => harmless.length + index + 1),
    );
    for (const secret of secrets) expect(JSON.stringify(report)).not.toContain(secret.slice(-10));
  });

  it('looks at one user alone, leaves no trace, and says what to do about each finding', async () => {
    const { core } = await check({ 'user/a.md': '[gone](gone.md)\n' });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: '[gone](gone.md)\n' });
    const before = (await core.accessLog.list({})).items.length;
    const { findings } = await core.observability.hygiene({ userId: 'alice' });
    expect((await core.accessLog.list({})).items).toHaveLength(before);
    expect(findings.flatMap(({ places }) => places.map(({ path }) => path))).toEqual([
      'users/alice/a.md',
    ]);
    for (const { mend, message } of findings) {
      expect(mend).not.toBe('');
      expect(message).not.toBe('');
    }
    expect(await core.observability.hygiene({ userId: 'nobody' })).toMatchObject({
      files: 0,
      findings: [],
    });
  });

  it('is narrowed to the files that were written in a time', async () => {
    const { core, clock } = await check({ 'user/a.md': '[gone](gone.md)\n' });
    clock.advance(DAY);
    await call(core, 'alice', 'memory_write', { path: 'user/b.md', content: '[lost](lost.md)\n' });
    const since = new Date(clock.now()).toISOString();
    const { findings, filesChecked } = await core.observability.hygiene({ userId: 'alice', since });
    expect(filesChecked).toBe(1);
    expect(placesOf(findings)).toEqual([[{ path: 'users/alice/b.md', lines: [1] }]]);
  });

  it('is narrowed to the files whose present content a tool wrote', async () => {
    const { core } = await check({
      'user/a.md': '[gone](gone.md)\n',
      'user/b.md': '[lost](lost.md)\n',
      'user/c.md': '[kept](a.md)\n',
    });
    const patch = { path: 'user/b.md', append: { text: '[out](out.md)' } };
    await call(core, 'alice', 'memory_patch', patch);
    await core.files.put('users/alice/c.md', { content: '[torn](torn.md)\n' }, ADMIN);
    const of = async (tool?: string) => {
      const asked = { userId: 'alice', ...(tool === undefined ? {} : { tool }) };
      const { findings, filesChecked, files } = await core.observability.hygiene(asked);
      expect(files).toBe(3);
      expect(filesChecked).toBe(new Set(findings.flatMap(({ places }) => places[0]?.path)).size);
      return placesOf(findings)
        .flat()
        .map(({ path, lines }) => `${path} ${lines.join()}`);
    };
    expect(await of('memory_write')).toEqual(['users/alice/a.md 1']);
    expect(await of('memory_patch')).toEqual(['users/alice/b.md 1', 'users/alice/b.md 2']);
    expect(await of('memory_find')).toEqual([]);
    // The operator's write is no tool's.
    expect((await of()).length).toBe(4);
  });

  it('bounds its list, the gravest first', async () => {
    const links = Array.from({ length: 600 }, (_, n) => `[x](gone-${n}.md)`).join('\n');
    const { report } = await check({ 'user/a.md': `${links}\n\nPassword: hunter2-is-it\n` });
    expect(report.findings).toHaveLength(500);
    expect(report.omitted).toBe(101);
    expect(report.findings[0]?.kind).toBe('secret');
    expect(report.counts).toEqual({ broken_link: 600, secret: 1 });
  });

  it('takes as many lines, and the same one as often, as a file can have', async () => {
    const { report } = await check({
      'user/short.md': 'a\n'.repeat(131_072),
      'user/same.md': 'one two three four\n'.repeat(13_000),
    });
    expect(report.counts).toEqual({ duplicate_line: 1, oversized: 2 });
    const [places] = report.findings.flatMap((each) =>
      each.kind === 'duplicate_line' ? each.places : [],
    );
    expect(places?.lines).toHaveLength(13_000);
  });
});

describe('the search for lines that are alike', () => {
  const word = fc.constantFrom(
    'tea',
    'milk',
    'green',
    'every',
    'day',
    'cat',
    'home',
    'works',
    'at',
  );
  const text = fc
    .array(
      fc.array(word, { minLength: 3, maxLength: 9 }).map((words) => words.join(' ')),
      {
        maxLength: 25,
      },
    )
    .map((lines) => lines.join('\n'));

  it('finds each pair that a comparison of every two finds, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (content) => {
        const lines = [...readLines('a.md', content)];
        const said = lines.filter((line) => line.text.split(' ').length >= 4);
        const likeness = (one: string, other: string) => {
          const [a, b] = [new Set(one.split(' ')), new Set(other.split(' '))];
          const shared = [...a].filter((each) => b.has(each)).length;
          return shared / (a.size + b.size - shared);
        };
        const firsts = said.filter(
          (line, at) => said.findIndex((other) => other.text === line.text) === at,
        );
        // A line is told of once, beside one of those before it that it is like.
        const expected = firsts.filter((line, at) =>
          firsts.slice(0, at).some((other) => likeness(line.text, other.text) >= 0.8 - 1e-9),
        );
        const findings = await findRepeatedLines(lines);
        const found = findings.filter(({ kind }) => kind === 'similar_line');
        const duplicates = findings.filter(({ kind }) => kind === 'duplicate_line');
        expect(
          found.map(({ places }) => Math.max(...places.flatMap((each) => each.lines))),
        ).toEqual(expected.map(({ number }) => number));
        for (const { places } of found) {
          const [one, other] = places
            .flatMap((place) => place.lines)
            .map((number) => lines.find((line) => line.number === number)?.text ?? '');
          expect(likeness(one ?? '', other ?? '')).toBeGreaterThanOrEqual(0.8 - 1e-9);
        }
        const repeated = new Set(
          said.map((line) => line.text).filter((each, at, all) => all.indexOf(each) !== at),
        );
        expect(duplicates).toHaveLength(repeated.size);
      }),
      { numRuns: 300 },
    );
  });

  it('takes any text, also one that is hard to take apart', async () => {
    const screening = createScreening({
      screen: { secrets: 'warn', personal: 'warn', patterns: null },
    });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 500 }), async (content) => {
        const lines = [...readLines('a.md', content)];
        await findContradictions(lines);
        await findRepeatedLines(lines);
        findSecrets('a.md', content, screening);
        for (const { number } of lines)
          expect(number).toBeLessThanOrEqual(content.split('\n').length);
      }),
    );
    const hostile = ['password '.repeat(20_000), 'a:'.repeat(60_000), '*'.repeat(200_000)];
    for (const content of [...hostile, 'https://a:'.repeat(20_000), 'eyJ'.repeat(60_000)]) {
      findSecrets('a.md', content, screening);
      await findContradictions([...readLines('a.md', content)]);
    }
  });
});

describe('the check of a space', () => {
  it('finds in it what it finds in the memory of a user, by its own paths, and counts by space', async () => {
    const core = await openCore();
    const files = {
      'index.md': '# Index\n\n- [Refunds](refunds.md)\n- [Old](spaces/acme/old.md)\n',
      'refunds.md':
        'Refunds take 14 days, says the contract.\n\nSee user/profile.md: [you](user/profile.md).\n',
      'hours.md': 'Refunds take 14 days, says the contract.\n\n[Shared](shared/none.md)\n',
    };
    for (const [path, content] of Object.entries(files)) {
      await core.files.put(`spaces/acme/${path}`, { content }, ADMIN);
    }
    await core.files.put('users/acme/a.md', { content: 'x\n' }, ADMIN);
    const report = await core.observability.hygiene({ spaceId: 'acme' });
    expect(report).toMatchObject({ userId: null, spaceId: 'acme', files: 3, filesChecked: 3 });
    const found = report.findings.map(({ kind, message }) => [kind, message]);
    expect(found).toContainEqual([
      'stale_catalog',
      'The catalog lists spaces/acme/old.md, which does not exist.',
    ]);
    expect(found).toContainEqual([
      'broken_link',
      'A link leads to shared/none.md, which does not exist.',
    ]);
    expect(report.counts).toMatchObject({ missing_from_catalog: 1, duplicate_line: 1 });
    // Another file for each reader.
    expect(JSON.stringify(report)).not.toContain('profile.md');
    for (const { places } of report.findings) {
      for (const { path } of places) expect(path).toMatch(/^spaces\/acme\//);
    }
    const spaces = (await core.observability.hygieneOf('spaces', {})).items;
    expect(spaces).toMatchObject([{ userId: null, spaceId: 'acme', counts: report.counts }]);
    expect((await core.observability.hygieneOf('spaces', { q: 'x' })).items).toEqual([]);
    const users = (await core.observability.hygieneOf('users', {})).items;
    expect(users).toMatchObject([{ userId: 'acme', spaceId: null, files: 1 }]);
  });

  it('needs a user or a space, and one of them only', async () => {
    const core = await openCore();
    for (const query of [{}, { userId: 'a', spaceId: 'a' }, { spaceId: '.a' }]) {
      await expect(core.observability.hygiene(query)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
    }
  });
});
