import { describe, expect, it } from 'vitest';
import { toTimeRequest } from '../../../core/search/time/find-in-time.ts';
import { readQuestionTime } from '../../../core/search/time/question-time.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const DAY = '2026-07-15';

interface Found {
  mode: string;
  degraded?: string;
  results: { path: string; startLine: number; score: number; writtenAt?: string }[];
}

/** A service whose clock a test sets. */
async function openAt(config: object = {}) {
  const clock = { now: Date.parse('2026-01-10T12:00:00Z') };
  const core = await openCore({ now: () => clock.now, ...config });
  const write = async (day: string, path: string, content: string) => {
    clock.now = Date.parse(`${day}T12:00:00Z`);
    await call(core, 'alice', 'memory_write', { path, content });
  };
  return { core, clock, write };
}

const find = async (core: Core, args: object) =>
  (await call<Found>(core, 'alice', 'memory_find', args)).result;

const linesOf = ({ results }: Found) =>
  results.map(({ path, startLine }) => `${path}:${startLine}`);

describe('memory_find by time', () => {
  it('finds what was written in a time, by the time of the line and not of its file', async () => {
    const { core, write } = await openAt();
    await write('2026-01-10', 'user/a.md', '# A\n\n- Green tea.\n\n# B\n\nOther.\n');
    await write('2026-02-10', 'user/b.md', 'White tea.\n');
    await write('2026-03-10', 'user/a.md', '# A\n\n- Green tea.\n\n# B\n\n- Black tea.\n');
    const since = '2026-02-01T00:00:00Z';
    const until = '2026-03-01T00:00:00Z';
    expect(linesOf(await find(core, { query: 'tea', since }))).toEqual(
      expect.arrayContaining(['user/a.md:7', 'user/b.md:1']),
    );
    expect(linesOf(await find(core, { query: 'tea', until: since }))).toEqual(['user/a.md:3']);
    expect(linesOf(await find(core, { query: 'tea', since, until }))).toEqual(['user/b.md:1']);
    expect(linesOf(await find(core, { query: 'tea', since: '2027-01-01T00:00:00Z' }))).toEqual([]);
    const exact = { since: '2026-02-10T12:00:00Z', until: '2026-02-10T12:00:00.001Z' };
    expect(linesOf(await find(core, { query: 'tea', ...exact }))).toEqual(['user/b.md:1']);
  });

  it('gives the newest first where it is asked to', async () => {
    const { core, write } = await openAt();
    await write('2026-01-10', 'user/a.md', 'Green tea, green tea, green tea.\n');
    await write('2026-02-10', 'user/c.md', 'Green tea.\n');
    await write('2026-03-10', 'user/b.md', 'Some green tea after a long walk by the river.\n');
    const { results } = await find(core, { query: 'green tea', sort: 'newest' });
    expect(results.map(({ path, writtenAt }) => [path, writtenAt?.slice(0, 10)])).toEqual([
      ['user/b.md', '2026-03-10'],
      ['user/c.md', '2026-02-10'],
      ['user/a.md', '2026-01-10'],
    ]);
    const one = await find(core, { query: 'green tea', sort: 'newest', limit: 1 });
    expect(linesOf(one)).toEqual(['user/b.md:1']);
  });

  it('raises lines of the time that a question names: written then, or about then', async () => {
    const { core, clock, write } = await openAt();
    await write('2026-01-10', 'user/a.md', 'Went hiking by the lake.\n');
    await write('2026-05-10', 'user/b.md', 'Went hiking by the lake.\n');
    await write('2026-06-10', 'user/c.md', '2023-05-07: went hiking by the lake.\n');
    clock.now = Date.parse('2026-06-20T12:00:00Z');
    const first = async (query: string) => linesOf(await find(core, { query }))[0];
    expect(await first('hiking by the lake')).toBe('user/a.md:1');
    expect(await first('hiking by the lake last month')).toBe('user/b.md:1');
    expect(await first('hiking by the lake in May 2023')).toBe('user/c.md:1');
    await write('2026-06-19', 'user/d.md', 'Went hiking by the lake.\n');
    expect(await first('hiking by the lake')).toBe('user/a.md:1');
    expect(await first('the latest hiking by the lake')).toBe('user/d.md:1');
  });

  it('refuses times that are none', async () => {
    const { core } = await openAt();
    for (const args of [
      { since: 'yesterday' },
      { until: '2026-02-30T00:00:00Z' },
      { sort: 'oldest' },
    ]) {
      const error = await rejection(find(core, { query: 'tea', ...args }));
      expect(error.code).toBe('INVALID_REQUEST');
    }
  });
});

describe('an expression of time', () => {
  it.each([
    ['what did I do yesterday', ['2026-07-14']],
    ['in May 2023', ['2023-05']],
    ['qué hice en 2023', ['2023']],
    ['was war letzten Monat', ['2026-06']],
    ['上个月', ['2026-06']],
    ['on 3 March 2023', ['2023-03-03']],
    ['last spring', ['2026-03', '2026-04', '2026-05']],
    ['l’été dernier', ['2025-06', '2025-07', '2025-08']],
    ['letzten Winter', ['2025-12', '2026-01', '2026-02']],
    ['summer of 2023', ['2023-06', '2023-08']],
    ['прошлой осенью', ['2025-09', '2025-11']],
  ])('in %j is a range', (query, dates) => {
    expect([...(readQuestionTime(query, DAY)?.dates ?? [])]).toEqual(expect.arrayContaining(dates));
  });

  it.each(['the latest project', 'was mag sie zuletzt', '最近', 'lo que prefiere actualmente'])(
    'in %j asks for the newest',
    (query) => {
      expect(readQuestionTime(query, DAY)?.isLatest).toBe(true);
    },
  );

  it.each(['green tea', 'who is Ana', 'may I eat nuts', 'order 2023', 'GPT 2000', 'spring rolls'])(
    'is not in %j',
    (query) => {
      expect(readQuestionTime(query, DAY)).toBeNull();
    },
  );

  it('is read where search reads a long question: at its beginning and its end', () => {
    const filler = 'green tea '.repeat(2_000);
    const read = (query: string) => {
      const args = { query, since: null, until: null, sort: undefined };
      const time = toTimeRequest(args, { now: Date.parse(DAY), timeZone: 'UTC' });
      return [...(time?.question?.dates ?? [])];
    };
    expect(read(`yesterday ${filler}${filler}`)).toEqual(['2026-07-14']);
    expect(read(`${filler}${filler} yesterday`)).toEqual(['2026-07-14']);
    expect(read(`${filler} yesterday ${filler}`)).toEqual([]);
  });
});

describe('memory as it stood', () => {
  const history = { tools: { history: true } };

  it('is read, found and gathered with the words of then', async () => {
    const { core, clock, write } = await openAt(history);
    await write('2026-01-10', 'user/a.md', '# Drinks\n\n- Prefers tea.\n');
    await write('2026-02-10', 'user/a.md', '# Drinks\n\n- Prefers coffee.\n');
    await write('2026-02-10', 'user/new.md', 'Tea is new.\n');
    await write('2026-02-10', 'user/a.md', '# Drinks\n\n- Prefers water.\n');
    clock.now = Date.parse('2026-06-01T00:00:00Z');
    const asOf = '2026-01-20T00:00:00Z';
    const read = await call<{ content: string; version: number }>(core, 'alice', 'memory_read', {
      path: 'user/a.md',
      asOf,
    });
    expect(read.result).toMatchObject({ content: '# Drinks\n\n- Prefers tea.\n', version: 1 });
    expect(linesOf(await find(core, { query: 'tea', asOf }))).toEqual(['user/a.md:3']);
    expect(linesOf(await find(core, { query: 'tea', asOf, path: 'user/n' }))).toEqual([]);
    const { result } = await call<{ context: string; mode: string }>(
      core,
      'alice',
      'memory_context',
      {
        query: 'tea',
        asOf,
        fill: false,
      },
    );
    expect(result.context).toContain('version 1, 2026-01-10, under "Drinks"\n\n- Prefers tea.\n');
    expect(result.context).not.toMatch(/new|water/);
    expect(linesOf(await find(core, { query: 'tea' }))).toEqual(['user/new.md:1']);
  });

  it('says what is wrong with a time outside of history', async () => {
    const { core, clock, write } = await openAt(history);
    await write('2026-02-10', 'user/a.md', 'Tea.\n');
    clock.now = Date.parse('2026-06-01T00:00:00Z');
    const early = '2026-01-01T00:00:00Z';
    const read = (asOf: string) =>
      rejection(call(core, 'alice', 'memory_read', { path: 'user/a.md', asOf }));
    const gone = await read(early);
    expect(gone.code).toBe('FILE_NOT_FOUND');
    expect(JSON.stringify([gone.message, gone.details])).not.toContain('users/');
    expect((await read('2027-01-01T00:00:00Z')).message).toContain('future');
    expect(await find(core, { query: 'tea', asOf: early })).toMatchObject({
      mode: 'text',
      results: [],
      hint: 'The memory was empty at 2026-01-01T00:00:00.000Z.',
    });
    expect((await rejection(find(core, { query: 'tea', asOf: '2027-01-01T00:00:00Z' }))).code).toBe(
      'INVALID_REQUEST',
    );
  });

  it('is refused above 500 files, of which those that did not exist then are none', async () => {
    const { core, clock, write } = await openAt(history);
    await write('2026-01-10', 'user/a.md', 'Prefers tea.\n');
    for (let file = 1; file <= 500; file += 1) await write('2026-02-10', `user/${file}.md`, 'x\n');
    clock.now = Date.parse('2026-06-01T00:00:00Z');
    const early = { query: 'tea', asOf: '2026-01-20T00:00:00Z' };
    expect(linesOf(await find(core, early))).toEqual(['user/a.md:1']);
    const { result } = await call<{ sources: object[] }>(core, 'alice', 'memory_context', early);
    expect(result.sources).toMatchObject([{ path: 'user/a.md' }]);
    const late = { query: 'tea', asOf: '2026-03-01T00:00:00Z' };
    for (const tool of ['memory_find', 'memory_context']) {
      expect(await rejection(call(core, 'alice', tool, late))).toMatchObject({
        code: 'WORK_LIMIT_EXCEEDED',
        details: { limit: 'files', max: 500 },
      });
    }
    expect(linesOf(await find(core, { ...late, path: 'user/a' }))).toEqual(['user/a.md:1']);
  });

  it('is unknown to agents unless the operator switches it on', async () => {
    const { core } = await openAt();
    const asOf = '2026-01-01T00:00:00Z';
    for (const [tool, args] of [
      ['memory_read', { path: 'user/a.md' }],
      ['memory_find', { query: 'tea' }],
      ['memory_context', { query: 'tea' }],
    ] as const) {
      const error = await rejection(call(core, 'alice', tool, { ...args, asOf }));
      expect(error.code).toBe('INVALID_REQUEST');
      expect(JSON.stringify(error.details)).toContain('asOf');
    }
    const tools = JSON.stringify(await core.tools.listTools());
    expect(tools).not.toContain('asOf');
  });
});
