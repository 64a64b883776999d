import { onTestFinished, expect, it } from 'vitest';
import type { Core, CoreConfig } from '../../../core/service.ts';
import { openai } from '../../../plugins/embedder-openai/index.ts';
import { embedMeaning } from '../../support/provider-server/embed.ts';
import { startProviderServer } from '../../support/provider-server/server.ts';
import { call, openCore } from '../../support/service.ts';
import { makeDatabase, openDatabase } from '../../support/tables.ts';
import { createFillIn } from '../screening/fill-in.ts';

const OPERATOR = { operator: 'anna', address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const TOKEN = createFillIn(7)('ghp_{b62:36}');
const PROFILE = '# Profile\n\n- Allergic to peanuts.\n- Vegan.\n- Her cat is called Miezi.\n';
const INDEX = '# Catalog\n\n- user/profile.md: who she is\n';
const POLICY = '# Refunds\n\n- Within 14 days.\n';
const CHECKS = `checks:
  - { name: allergy stands, user: alice, contains: Allergic to peanuts }
  - { name: allergy is found, user: alice, ask: allergic peanuts, expect: { line: Allergic to peanuts, within: 1 } }
  - { name: cat is in the context, user: alice, ask: What is the cat called?, expect: { line: Miezi, context: true } }
  - { name: profile is found, user: alice, ask: cat Miezi, expect: { path: user/profile.md, within: 2 } }
  - { name: catalog names the profile, user: alice, path: user/index.md, contains: user/profile.md }
  - { name: policy stands, path: shared/policy.md, contains: '/within 14 days/i' }
  - { name: no secrets, everywhere: { absent: { secret: true } } }
  - { name: nothing has expired, everywhere: { absent: { expired: true } } }
  - { name: one diet, each_user: { at_most_one_line: '/\\b(vegan|vegetarian|omnivore)\\b/i' } }
  - { name: everyone has a profile, each_user: { path: user/profile.md, exists: true } }
  - { name: profiles are short, each_user: { path: user/profile.md, max_bytes: 400 } }
  - { name: no old policy, path: shared/old-policy.md, exists: false }
  - { name: tidy, user: bob, hygiene: none }
  - { name: team plan stands, space: team, contains: Ship in May }
`;

const write = (core: Core, userId: string, path: string, content: string) =>
  call(core, userId, 'memory_write', { path: `user/${path}`, content });
const share = (core: Core, path: string, content: string) =>
  core.files.put(path, { content }, OPERATOR);

async function open(config: Partial<CoreConfig> = {}): Promise<Core> {
  const core = await openCore({
    screen: { secrets: 'off' },
    tools: { delete: true, move: true },
    ...config,
  });
  await write(core, 'alice', 'profile.md', PROFILE);
  await write(core, 'alice', 'index.md', INDEX);
  await write(core, 'bob', 'profile.md', '# Profile\n\n- Omnivore.\n- Sails a boat.\n');
  await share(core, 'shared/policy.md', POLICY);
  await share(core, 'spaces/team/plan.md', '# Plan\n\n- Ship in May.\n');
  await core.checks.stored.write({ text: CHECKS }, { caller: OPERATOR, ifVersion: undefined });
  return core;
}

async function findRed(core: Core): Promise<string[]> {
  const run = await core.checks.stored.run('nightly');
  return (run?.results ?? []).filter(({ passed }) => !passed).map(({ name }) => name);
}

/** What made memory worse, and a check that has to notice. */
const REGRESSIONS: [what: string, check: string, (core: Core) => Promise<unknown>][] = [
  [
    'a dream that loses a line',
    'allergy stands',
    (core) => write(core, 'alice', 'profile.md', PROFILE.replace('- Allergic to peanuts.\n', '')),
  ],
  [
    'a dream that words a line more loosely',
    'allergy stands',
    (core) =>
      write(
        core,
        'alice',
        'profile.md',
        PROFILE.replace('Allergic to peanuts', 'Avoids some nuts'),
      ),
  ],
  [
    'a merge that takes a name',
    'cat is in the context',
    (core) => write(core, 'alice', 'profile.md', PROFILE.replace('called Miezi', 'black')),
  ],
  [
    'a file that was deleted',
    'everyone has a profile',
    (core) => call(core, 'alice', 'memory_delete', { path: 'user/profile.md' }),
  ],
  [
    'a file that was moved',
    'profile is found',
    (core) => call(core, 'alice', 'memory_move', { from: 'user/profile.md', to: 'user/about.md' }),
  ],
  [
    'a fact in the memory of another user',
    'allergy stands',
    async (core) => {
      await write(core, 'bob', 'note.md', '- Allergic to peanuts.\n');
      await write(
        core,
        'alice',
        'profile.md',
        '# Profile\n\n- Vegan.\n- Her cat is called Miezi.\n',
      );
    },
  ],
  [
    'a stale catalog',
    'catalog names the profile',
    (core) => write(core, 'alice', 'index.md', '# Catalog\n\n- user/about.md: who she is\n'),
  ],
  [
    'a rule that changed',
    'policy stands',
    (core) => share(core, 'shared/policy.md', POLICY.replace('14', '30')),
  ],
  [
    'a rule that is gone',
    'policy stands',
    (core) => share(core, 'shared/policy.md', '# Refunds\n'),
  ],
  [
    'a rule of the past that came back',
    'no old policy',
    (core) => share(core, 'shared/old-policy.md', 'Within 30 days.\n'),
  ],
  [
    'a token in a user’s memory',
    'no secrets',
    (core) => write(core, 'bob', 'keys.md', `- Token ${TOKEN}\n`),
  ],
  [
    'a token in a space',
    'no secrets',
    (core) => share(core, 'spaces/team/keys.md', `- Token ${TOKEN}\n`),
  ],
  [
    'a line that has expired',
    'nothing has expired',
    (core) => write(core, 'bob', 'leave.md', '- On leave <!-- until: 2020-08-12 -->\n'),
  ],
  [
    'a file that has expired',
    'nothing has expired',
    (core) => write(core, 'bob', 'sale.md', '---\nvalid_until: 2020-01-01\n---\n\n- A sale.\n'),
  ],
  [
    'two diets in one file',
    'one diet',
    (core) =>
      write(core, 'bob', 'profile.md', '# Profile\n\n- Omnivore.\n- Vegetarian on Mondays.\n'),
  ],
  ['two diets in two files', 'one diet', (core) => write(core, 'bob', 'food.md', '- Vegan.\n')],
  [
    'a profile that grew',
    'profiles are short',
    (core) =>
      write(
        core,
        'bob',
        'profile.md',
        `# Profile\n\n${'- Sails a boat on the lake.\n'.repeat(30)}`,
      ),
  ],
  [
    'a line that stands twice',
    'tidy',
    (core) =>
      write(
        core,
        'bob',
        'other.md',
        '- Lives in Porto, in the old town near the river.\n- Lives in Porto, in the old town near the river.\n',
      ),
  ],
  [
    'files that push an answer down',
    'allergy is found',
    (core) =>
      write(
        core,
        'alice',
        'allergic-peanuts.md',
        '# allergic peanuts\n\nallergic peanuts allergic peanuts\n',
      ),
  ],
  [
    'a plan that is gone',
    'team plan stands',
    (core) => share(core, 'spaces/team/plan.md', '# Plan\n\n- Ship in June.\n'),
  ],
];

it.each(REGRESSIONS)('%s is noticed', async (_, check, spoil) => {
  const core = await open();
  expect(await findRed(core)).toEqual([]);
  await spoil(core);
  expect(await findRed(core)).toContain(check);
});

it('an embedder that knows nothing is noticed', async () => {
  const database = await makeDatabase();
  const make = async (
    name: string,
    embed: typeof embedMeaning,
  ): Promise<CoreConfig['embedder']> => {
    const provider = await startProviderServer({ dimensions: 8, embed });
    onTestFinished(() => provider.close());
    return openai({ baseUrl: provider.baseUrl, name, dimensions: 8 });
  };
  const first = await openCore({
    storage: openDatabase(database),
    embedder: (await make('meaning', embedMeaning)) ?? null,
  });
  for (const [at, line] of [
    'Her puppy is called Rex',
    'Likes coffee',
    'Lives in Berlin',
  ].entries()) {
    await write(first, 'ann', `${at}.md`, `${line}.\n`);
  }
  const text =
    'checks: [{ name: drink, user: ann, ask: Which beverage?, expect: { line: coffee, within: 1 } }]';
  await first.checks.stored.write({ text }, { caller: OPERATOR, ifVersion: undefined });
  await first.indexer.drain();
  await first.embeddings?.drain();
  expect(await findRed(first)).toEqual([]);
  await first.close();
  // Texts of about the length of the question are alike to it.
  const noise = ({ length }: string, dimensions: number) =>
    Array.from({ length: dimensions }, (_, at) =>
      at === (length >= 15 && length <= 17 ? 0 : (length % 7) + 1) ? 1 : 0.01,
    );
  const second = await openCore({
    storage: openDatabase(database),
    embedder: (await make('noise', noise)) ?? null,
  });
  await second.indexer.drain();
  await second.embeddings?.drain();
  const run = await second.checks.schedule.tick();
  expect(run?.results).toMatchObject([{ name: 'drink', passed: false }]);
});

it('raises no alarm in 20 runs while memory is used as it should be', async () => {
  const core = await open();
  const USES: ((n: number) => Promise<unknown>)[] = [
    (n) => write(core, 'alice', `walk-${n}.md`, `- Walked ${n} km along the river.\n`),
    (n) => write(core, 'bob', 'profile.md', `# Profile\n\n- Omnivore.\n- Sails boat ${n}.\n`),
    (n) => write(core, `user-${n}`, 'profile.md', `# Profile\n\n- Plays the violin ${n}.\n`),
    (n) => share(core, `shared/note-${n}.md`, `The office closes at ${n}.\n`),
    (n) => share(core, 'spaces/team/plan.md', `# Plan\n\n- Ship in May.\n- Test ${n} times.\n`),
    () => core.indexer.drain(),
    (n) =>
      call(core, 'bob', 'memory_patch', {
        path: 'user/profile.md',
        append: { text: `- Rowed ${n} km.` },
      }),
  ];
  for (let n = 0; n < 20; n += 1) {
    await USES[n % USES.length]?.(n);
    expect({ n, red: await findRed(core) }).toEqual({ n, red: [] });
  }
});
