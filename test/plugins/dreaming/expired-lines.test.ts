import { describe, expect, it } from 'vitest';
import { lines, openDreams, operation } from './dream-service.ts';

const TEAM = [
  '# Team',
  '',
  '- Bob is on leave in Lisbon. <!-- until: 2020-08-12 -->',
  '- Carol runs the shop for Bob. <!-- until: 2999-01-01 -->',
  '- Dan basically works at night.',
  '',
].join('\n');
const PATH = 'user/team.md';
const ALONE = { kind: 'supersede', add: null, sources: [] };

async function openWithTeam(operations: () => object[], body: object = {}) {
  const service = await openDreams();
  await service.write('alice', PATH, TEAM);
  service.say(() => ({ operations: operations() }));
  const run = await service.dream('alice', body);
  return { service, run };
}

describe('a line whose end is over', () => {
  it('is taken out without a source, once a person says so, and no verifier is asked', async () => {
    const { service, run } = await openWithTeam(() => [
      operation({ ...ALONE, remove: lines(PATH, TEAM, 3) }),
    ]);
    expect(run.operations).toMatchObject([
      {
        status: 'waiting',
        verdict: null,
        guard: null,
        preselected: false,
        applicable: true,
        why: 'Its lines say that they have expired. A person decides whether they go.',
      },
    ]);
    expect(run.verifier).toBeNull();
    expect(await service.read('alice', PATH)).toBe(TEAM);
    await service.admin('POST', `dream/runs/${run.id}/apply`, { operations: [1] });
    expect(await service.read('alice', PATH)).toBe(
      TEAM.replace('- Bob is on leave in Lisbon. <!-- until: 2020-08-12 -->\n', ''),
    );
  });

  it('is left by a dry run, which says that a person would decide', async () => {
    const { service, run } = await openWithTeam(
      () => [operation({ ...ALONE, remove: lines(PATH, TEAM, 3) })],
      { dryRun: true },
    );
    expect(run.operations).toMatchObject([
      { status: 'dropped', why: expect.stringContaining('leave this to a person. Its lines say') },
    ]);
    expect(await service.read('alice', PATH)).toBe(TEAM);
  });
});

it.each([
  ['whose end is to come', [4]],
  ['without an end', [5]],
  ['of which only one has expired', [3, 4]],
])('refuses to take out lines %s without a source', async (_, numbers) => {
  const { service, run } = await openWithTeam(() => [
    operation({ ...ALONE, remove: lines(PATH, TEAM, ...numbers) }),
  ]);
  expect(run.operations).toMatchObject([
    { status: 'dropped', guard: 'shape', why: expect.stringContaining('needs a source') },
  ]);
  expect(await service.read('alice', PATH)).toBe(TEAM);
});

it.each(['reword', 'merge'])('refuses a %s that would lose the end of a line', async (kind) => {
  const { service, run } = await openWithTeam(() => [
    operation({
      kind,
      remove: lines(PATH, TEAM, 4),
      add: { path: PATH, heading: null, lines: ['- Carol runs the shop for Bob.'] },
    }),
    operation({
      kind: 'reword',
      remove: lines(PATH, TEAM, 5),
      add: { path: PATH, heading: null, lines: ['- Dan works at night.'] },
    }),
  ]);
  expect(run.operations).toMatchObject([
    { status: 'dropped', guard: 'shape', why: 'A line would lose its end.' },
    { guard: null },
  ]);
  expect(await service.read('alice', PATH)).toBe(TEAM);
});
