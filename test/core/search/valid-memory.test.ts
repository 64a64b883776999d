import { describe, expect, it } from 'vitest';
import type { CoreConfig } from '../../../core/config/service.ts';
import type { Core } from '../../../core/service.ts';
import { call, openCore } from '../../support/service.ts';

const NOON = '2026-08-12T12:00:00Z';

/** A service whose clock stands where a test puts it. */
async function openAt(time: string, config: Partial<CoreConfig> = {}) {
  let now = Date.parse(time);
  const core = await openCore({ now: () => now, ...config });
  return { core, setTime: (next: string) => void (now = Date.parse(next)) };
}

const write = (core: Core, path: string, content: string) =>
  call(core, 'alice', 'memory_write', { path, content });
const find = async (core: Core, query: string, more: object = {}) =>
  (
    await call<{
      results: { path: string; snippet: string; heading: string | null }[];
      expired?: number;
      leftOut?: object[];
      hint?: string;
    }>(core, 'alice', 'memory_find', { query, ...more })
  ).result;
const context = async (core: Core, query: string, more: object = {}) =>
  (
    await call<{ context: string; expired?: number; sources: { path: string; why: string }[] }>(
      core,
      'alice',
      'memory_context',
      { query, ...more },
    )
  ).result;

const LEAVE = [
  '# Team',
  '',
  '- Bob is on leave in Lisbon. <!-- until: 2026-08-12 -->',
  '- Carol covers for him.',
  '',
].join('\n');

describe('a line with an end', () => {
  it('is found on its last day, and left out from the next one on', async () => {
    const { core, setTime } = await openAt(NOON);
    await write(core, 'user/team.md', LEAVE);
    expect((await find(core, 'Lisbon')).results).toHaveLength(1);
    setTime('2026-08-12T23:59:59Z');
    expect((await find(core, 'Lisbon')).results).toHaveLength(1);
    setTime('2026-08-13T00:00:00Z');
    const gone = await find(core, 'Lisbon');
    expect(gone).toMatchObject({ results: [], expired: 1 });
    expect(JSON.stringify(gone)).not.toContain('Bob');
    const beside = await find(core, 'Carol covers');
    expect(beside.results[0]?.snippet).toBe('- Carol covers for him.');
    expect(beside.expired).toBe(1);
    const whole = await find(core, 'Lisbon', { includeExpired: true });
    expect(whole.results[0]?.snippet).toContain('Lisbon');
    expect(whole).not.toHaveProperty('expired');
  });

  it('ends with its day in SERVICE_TIME_ZONE', async () => {
    const { core, setTime } = await openAt('2026-08-12T06:00:00Z', { timeZone: 'Asia/Tokyo' });
    await write(core, 'user/team.md', LEAVE);
    setTime('2026-08-12T14:59:59Z');
    expect((await find(core, 'Lisbon')).results).toHaveLength(1);
    setTime('2026-08-12T15:00:00Z');
    expect((await find(core, 'Lisbon')).results).toEqual([]);
  });

  it('may end at a time, in any case and beside a pin', async () => {
    const { core, setTime } = await openAt(NOON);
    const line = '- Meeting in Oslo <!--UNTIL: 2026-08-12T18:00:00+02:00--> <!-- pin -->\r\n- Tea';
    await write(core, 'user/a.md', line);
    setTime('2026-08-12T15:59:59Z');
    expect((await find(core, 'Oslo')).results).toHaveLength(1);
    setTime('2026-08-12T16:00:00Z');
    expect((await find(core, 'Oslo')).results).toEqual([]);
    expect((await find(core, 'tea')).results[0]?.snippet).toBe('- Tea');
  });

  it('takes no other words of its paragraph along', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    const text = 'Bob is away.\nHe is in Lisbon. <!-- until: 2026-08-12 -->\nCarol covers.\n';
    await write(core, 'user/a.md', text);
    expect((await find(core, 'Lisbon')).results).toEqual([]);
    expect((await find(core, 'Carol')).results[0]?.snippet).toBe('Bob is away.\nCarol covers.');
  });

  it('leaves room for other passages of its file, and for other files', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    const old = Array.from(
      { length: 30 },
      (_, at) => `- Tea tea tea ${at} <!-- until: 2026-08-12 -->\n`,
    ).join('');
    await write(
      core,
      'user/a.md',
      `${old}- The tea is in the kitchen, behind the rice and flour.\n`,
    );
    await write(core, 'user/b.md', '- Drinks tea at work, in the garden, and on the train home.\n');
    const { results } = await find(core, 'tea', { limit: 2 });
    expect(results.map(({ path }) => path).sort()).toEqual(['user/a.md', 'user/b.md']);
    expect(JSON.stringify(results)).not.toContain('Tea tea');
  });

  it('names no section once it is a heading that has expired', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    await write(
      core,
      'user/a.md',
      '# Home\n\n## Sale <!-- until: 2026-08-12 -->\n\n- Rice costs 2.\n',
    );
    const { results } = await find(core, 'rice');
    expect(results[0]?.heading).toBe('Home');
  });

  it('is named with its end where a find is to explain itself', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    await write(core, 'user/team.md', LEAVE);
    await write(core, 'user/trip.md', '---\nvalid_until: 2026-08-12\n---\n# Lisbon\n\n- Hotel.\n');
    const explained = await find(core, 'Lisbon', { explain: true });
    expect(explained).toMatchObject({ results: [], expired: 2 });
    expect(explained.leftOut).toHaveLength(2);
    expect(explained.leftOut).toEqual(
      expect.arrayContaining([
        { path: 'user/team.md', startLine: 3, endLine: 3, validUntil: '2026-08-12' },
        { path: 'user/trip.md', startLine: 1, endLine: 6, validUntil: '2026-08-12' },
      ]),
    );
    expect(await find(core, 'Lisbon')).not.toHaveProperty('leftOut');
    const whole = await find(core, 'Lisbon', { explain: true, includeExpired: true });
    expect(whole).not.toHaveProperty('leftOut');
  });

  it('is an example in code', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    await write(core, 'user/a.md', '```md\n- Lisbon <!-- until: 2026-08-12 -->\n```\n');
    expect((await find(core, 'Lisbon')).results).toHaveLength(1);
  });

  it.each(['2026-02-30', '12.08.2020', 'tomorrow', '', '2020-01-01T00:00', '9'.repeat(60)])(
    'never expires with the end %j, and hygiene lists it',
    async (value) => {
      const { core } = await openAt('2026-09-01T00:00:00Z');
      await write(core, 'user/a.md', `- Lisbon <!-- until: ${value} -->\n`);
      expect((await find(core, 'Lisbon')).results).toHaveLength(1);
      const { findings } = await core.observability.hygiene({ userId: 'alice' });
      expect(findings).toMatchObject([
        { kind: 'unreadable_end', places: [{ path: 'users/alice/a.md', lines: [1] }] },
      ]);
      if (value === '12.08.2020') expect(findings[0]?.mend).toContain('Write 2020-08-12');
    },
  );
});

describe('a file with an end', () => {
  const TRIP = '---\ntitle: Trip\nvalid_until: 2026-08-12\n---\n# Lisbon\n\n- Flight at 9.\n';

  it('is left out of find, context, hints and catalogs, and a read marks it', async () => {
    const { core, setTime } = await openAt(NOON);
    await write(core, 'user/trip.md', TRIP);
    await write(core, 'user/tea.md', '- Drinks tea.\n');
    expect((await context(core, 'flight')).context).toContain('Flight');
    setTime('2026-08-13T00:00:00Z');
    const found = await find(core, 'flight Lisbon');
    expect(found).toMatchObject({ results: [], expired: 1 });
    expect(found.hint).toContain('user/tea.md');
    expect(found.hint).not.toContain('trip');
    const given = await context(core, 'flight');
    expect(given.context).toContain('Drinks tea');
    expect(JSON.stringify(given)).not.toMatch(/Flight|Lisbon|trip/);
    expect(given.expired).toBe(1);
    expect((await context(core, 'flight', { includeExpired: true })).context).toContain('Flight');
    const read = await call<object>(core, 'alice', 'memory_read', { path: 'user/trip.md' });
    expect(read.result).toMatchObject({
      content: TRIP,
      expired: [{ startLine: 1, endLine: 7, validUntil: '2026-08-12' }],
    });
    const { findings } = await core.observability.hygiene({ userId: 'alice' });
    expect(findings).toMatchObject([
      { kind: 'expired', places: [{ path: 'users/alice/trip.md', lines: [] }] },
    ]);
    const answer = await core.fileLists.file('users/alice/trip.md', {});
    expect(answer.expired).toEqual([{ startLine: 1, endLine: 7, validUntil: '2026-08-12' }]);
  });

  it('is decided for each call: a later end brings it back, and asOf looks from its moment', async () => {
    const { core, setTime } = await openAt(NOON, { tools: { history: true } });
    await write(core, 'user/trip.md', TRIP);
    setTime('2026-09-01T00:00:00Z');
    expect((await find(core, 'flight')).results).toEqual([]);
    expect((await find(core, 'flight', { asOf: '2026-08-12T20:00:00Z' })).results).toHaveLength(1);
    expect((await context(core, 'flight', { asOf: '2026-08-12T20:00:00Z' })).context).toContain(
      'Flight',
    );
    await write(core, 'user/trip.md', TRIP.replace('2026-08-12', '2026-12-31'));
    expect((await find(core, 'flight')).results).toHaveLength(1);
  });

  it('says its end in a field of its own alone', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    const nested = '---\ntrip:\n  valid_until: 2020-01-01\nuntil: 2020-01-01\n---\n- Lisbon\n';
    await write(core, 'user/a.md', nested);
    await write(core, 'user/b.md', 'valid_until: 2020-01-01\n\n- Lisbon\n');
    expect((await find(core, 'Lisbon')).results).toHaveLength(2);
  });
});

describe('a context', () => {
  const OLD = `${'これは古い予定です。'.repeat(20)} <!-- until: 2026-08-12 -->\n`;

  it.each([
    ['lines', `- Tea\n\n- ${OLD}- ${OLD}`],
    ['a file', `---\nvalid_until: 2026-08-12\n---\n${OLD.repeat(3)}`],
  ])('gives memory whole that fits without %s that have expired', async (_, old) => {
    const { core, setTime } = await openAt(NOON);
    await write(core, 'user/old.md', old);
    await write(core, 'user/food.md', '- Allergic to peanuts.\n');
    // Twice: what is known of the sizes of a memory is kept.
    for (const question of ['zebra', 'quilt']) {
      const given = await context(core, question, { maxChars: 300 });
      expect(given.sources.filter(({ why }) => why === 'fits')).toEqual([]);
    }
    setTime('2026-08-13T00:00:00Z');
    for (const question of ['zebra', 'quilt']) {
      const given = await context(core, question, { maxChars: 300 });
      expect(given.context).toContain('- Allergic to peanuts.');
      expect(given.context).not.toContain('予定');
      expect(given.sources.every(({ why }) => why === 'fits')).toBe(true);
    }
  });

  it('gives whole memory without its expired lines, and marks of other lines stay', async () => {
    const { core } = await openAt('2026-09-01T00:00:00Z');
    await write(core, 'user/team.md', `${LEAVE}- Dan is away. <!-- until: 2027-01-01 -->\n`);
    const given = await context(core, 'who covers?');
    expect(given.context).not.toContain('Lisbon');
    expect(given.context).not.toContain('\f');
    expect(given.context).toContain('# Team\n\n- Carol covers for him.\n');
    expect(given.context).toContain('- Dan is away. <!-- until: 2027-01-01 -->');
    expect(given.expired).toBe(1);
  });
});
