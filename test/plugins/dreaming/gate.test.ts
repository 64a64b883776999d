import { onTestFinished, describe, expect, it } from 'vitest';
import { openai } from '../../../plugins/embedder-openai/index.ts';
import { embedMeaning } from '../../support/provider-server/embed.ts';
import { startProviderServer } from '../../support/provider-server/server.ts';
import { type DreamService, lines, openDreams, operation } from './dream-service.ts';

const PATH = 'user/home.md';
const HOME = [
  '# Home',
  '',
  '- Plays the violin in an orchestra.',
  '- Likes the tea in the morning.',
  '- Likes tea in the morning.',
  '- Sails a ship on the lake.',
  '- Repairs a vessel of wood.',
  '',
].join('\n');

const reword = (line: number, text: string) =>
  operation({
    kind: 'reword',
    remove: lines(PATH, HOME, line),
    add: { path: PATH, heading: null, lines: [text] },
  });
const MERGE = operation({
  kind: 'merge',
  remove: lines(PATH, HOME, 4, 5),
  add: { path: PATH, heading: null, lines: ['- Likes tea in the morning.'] },
});
const LOSS = reword(3, '- Plays in an orchestra.');

async function open(checks: object[], config: object = {}): Promise<DreamService> {
  const service = await openDreams({ config });
  await service.write('alice', PATH, HOME);
  const { status, json } = await service.admin('PUT', 'checks', { checks });
  expect({ status, json }).toMatchObject({ status: 200 });
  return service;
}

async function dream(service: DreamService, operations: object[], body: object = {}) {
  service.say(() => ({ operations }));
  return await service.dream('alice', body);
}

describe('operations of a dream that would turn a stored check red', () => {
  it('wait, while the others are applied; a person may apply them all the same', async () => {
    const service = await open([
      { name: 'her violin', user: 'alice', ask: 'Which violin?', expect: { line: 'the violin' } },
      { name: 'also there', each_user: { contains: 'Plays the violin' } },
      { name: 'of bob', user: 'bob', contains: 'x' },
    ]);
    const run = await dream(service, [LOSS, MERGE]);
    expect(run.operations).toMatchObject([
      {
        status: 'waiting',
        why: 'check',
        checks: ['her violin', 'also there'],
        preselected: false,
      },
      { status: 'applied', why: null, checks: [] },
    ]);
    expect(await service.read('alice', PATH)).toContain('Plays the violin');
    expect(await service.read('alice', PATH)).not.toContain('the tea');
    const { status } = await service.admin('POST', `dream/runs/${run.id}/apply`, {
      operations: [1],
    });
    expect(status).toBe(200);
    expect(await service.read('alice', PATH)).toContain('- Plays in an');
    // No check blocks a write of an agent.
    await service.write('alice', PATH, '# Home\n');
    expect(await service.read('alice', PATH)).toBe('# Home\n');
  });

  it('are those of two that fail only together, from the second on', async () => {
    const service = await open([{ name: 'one boat', each_user: { at_most_one_line: '/boat/i' } }]);
    const run = await dream(service, [
      reword(6, '- Sails a boat on the lake.'),
      reword(7, '- Repairs a boat of wood.'),
    ]);
    expect(run.operations).toMatchObject([
      { status: 'applied' },
      { status: 'waiting', why: 'check', checks: ['one boat'] },
    ]);
  });

  it.each([
    ['a check that is red already', [{ name: 'a', user: 'alice', contains: 'Plays the tuba' }]],
    ['what hygiene finds', [{ name: 'a', user: 'alice', hygiene: 'none' }]],
    ['a check of another user', [{ name: 'a', path: 'users/bob/x.md', contains: 'violin' }]],
    ['no check', []],
  ])('are not held back by %s', async (_, checks) => {
    const run = await dream(await open(checks), [LOSS]);
    expect(run.operations).toMatchObject([{ status: 'applied', why: null, checks: [] }]);
  });

  it('are named by a dry run, which leaves memory as it is', async () => {
    const service = await open([{ name: 'a', path: `users/alice/home.md`, contains: 'violin' }]);
    const run = await dream(service, [LOSS], { dryRun: true });
    expect(run.operations).toMatchObject([
      {
        status: 'dropped',
        why: 'A run that writes would leave this to a person. check',
        checks: ['a'],
      },
    ]);
    expect(await service.read('alice', PATH)).toBe(HOME);
  });

  it('are found by meaning, too, with the vectors that their lines would get', async () => {
    const provider = await startProviderServer({ dimensions: 8, embed: embedMeaning });
    onTestFinished(() => provider.close());
    const embedder = openai({ baseUrl: provider.baseUrl, name: 'meaning', dimensions: 8 });
    const ask = 'Which beverage?';
    const service = await open([{ name: 'drink', user: 'alice', ask, expect: { line: 'tea' } }], {
      embedder,
    });
    await service.core.indexer.drain();
    await service.core.embeddings?.drain();
    const good = await dream(service, [MERGE]);
    expect(good.operations).toMatchObject([{ status: 'applied' }]);
    const now = (await service.read('alice', PATH)) ?? '';
    await service.core.indexer.drain();
    await service.core.embeddings?.drain();
    const loss = operation({
      kind: 'reword',
      remove: lines(PATH, now, 4),
      add: { path: PATH, heading: null, lines: ['- Likes it hot in the morning.'] },
    });
    const bad = await dream(service, [loss]);
    expect(bad.operations).toMatchObject([{ status: 'waiting', checks: ['drink'] }]);
  });
});
