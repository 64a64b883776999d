import { describe, expect, it } from 'vitest';
import { lines, MINUTE, openDreams, operation, verdicts } from './dream-service.ts';
import { AFTER, BEFORE, readThree, writeThree } from './three-files.ts';

const DAY = 24 * 60 * MINUTE;
const DIET =
  '# Food\n\n- Allergic to nuts\n- Likes soup a lot\n- Likes soup a lot.\n- Likes rice\n';

/** One operation that is certain, one that is risky, one that the verifier drops, one that a guard does. */
const fourKinds = () => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines('user/food.md', DIET, 5),
      sources: lines('user/food.md', DIET, 4),
    }),
    operation({
      kind: 'reword',
      remove: lines('user/food.md', DIET, 3),
      add: { path: 'user/food.md', heading: null, lines: ['- Has an allergy to nuts'] },
    }),
    operation({
      kind: 'reword',
      remove: lines('user/food.md', DIET, 6),
      add: { path: 'user/food.md', heading: null, lines: ['- Loves rice'] },
    }),
    operation({
      kind: 'reword',
      remove: lines('user/food.md', DIET, 1),
      add: { path: 'user/food.md', heading: null, lines: ['- Food'] },
    }),
  ],
});

async function openWithFood(settings: object = {}) {
  const service = await openDreams({ settings });
  await service.write('alice', 'user/food.md', DIET);
  service.say(fourKinds);
  service.judge(verdicts({ 2: 'keeps', 3: 'wrong' }));
  const run = await service.dream('alice');
  const act = async (verb: string, body: object = {}) =>
    (await service.admin('POST', `dream/runs/${run.id}/${verb}`, body)).json;
  const food = () => service.read('alice', 'user/food.md');
  const waiting = async () => ({
    status: (await service.admin('GET', 'status')).json.dreaming.operationsWaiting,
    user: (await service.admin('GET', 'dream/users')).json.items[0].operationsWaiting,
    runs: (await service.admin('GET', 'dream/runs?waiting=true')).json.items.length,
  });
  return { service, run, act, food, waiting };
}

const statusesOf = (run: { operations: { status: string }[] }) =>
  run.operations.map(({ status }) => status);

describe('a run in auto mode', () => {
  it('applies what is certain, leaves to a person what is risky, and drops the rest', async () => {
    const { run, food, waiting } = await openWithFood();
    expect(run).toMatchObject({ state: 'completed', outcome: 'waiting', operationsWaiting: 1 });
    expect(run.operations).toMatchObject([
      { status: 'applied', class: 'certain', verdict: null },
      {
        status: 'waiting',
        class: 'meaning',
        verdict: 'keeps',
        signals: ['sensitive'],
        preselected: false,
        applicable: true,
        why: expect.stringContaining('sensitive subject'),
        remove: [{ line: 3, heading: 'Food', text: '- Allergic to nuts' }],
        add: { path: 'users/alice/food.md', lines: ['- Has an allergy to nuts'] },
      },
      { status: 'dropped', verdict: 'wrong', guard: null, applicable: true },
      { status: 'dropped', guard: 'protected', applicable: false },
    ]);
    expect(await food()).toBe(DIET.replace('- Likes soup a lot.\n', ''));
    expect(await waiting()).toEqual({ status: 1, user: 1, runs: 1 });
  });

  it('lets a person apply what waits and what the verifier dropped, and nothing that a guard did', async () => {
    const { act, food, waiting } = await openWithFood();
    const refused = await act('apply', { operations: [4] });
    expect(refused.error).toMatchObject({ code: 'RUN_STATE', details: { guard: 'protected' } });
    expect((await act('apply', { operations: [9] })).error.code).toBe('INVALID_REQUEST');
    const applied = await act('apply', { operations: [2, 3] });
    expect(applied.decided).toEqual([
      { number: 2, status: 'applied', why: null },
      { number: 3, status: 'applied', why: null },
    ]);
    expect(applied).toMatchObject({ outcome: 'applied', filesTouched: 1, operationsWaiting: 0 });
    expect(await food()).toBe(
      '# Food\n\n- Has an allergy to nuts\n- Likes soup a lot\n- Loves rice\n',
    );
    expect(await waiting()).toEqual({ status: 0, user: 0, runs: 0 });
  });

  it('applies nothing by an apply that names nothing, where nothing is preselected', async () => {
    const { act, waiting } = await openWithFood();
    const answer = await act('apply');
    expect(answer).toMatchObject({ decided: [], outcome: 'waiting', operationsWaiting: 1 });
    expect((await waiting()).status).toBe(1);
  });

  it('does not propose again what waits already, nor what a person rejected while its lines stand', async () => {
    const { service, act, waiting } = await openWithFood();
    const second = await service.dream('alice');
    // The certain one is done: its line is gone.
    expect(statusesOf(second)).toEqual(['dropped', 'dropped', 'dropped']);
    expect(second).toMatchObject({ outcome: 'no_op', repeatedOperations: 1 });
    expect((await waiting()).status).toBe(1);
    expect(statusesOf(await act('reject'))).toEqual(['applied', 'rejected', 'dropped', 'dropped']);
    expect(await service.dream('alice')).toMatchObject({ repeatedOperations: 1 });
    expect((await waiting()).status).toBe(0);
    const other = '# Food\n\n- Allergic to nuts and eggs\n';
    await service.write('alice', 'user/food.md', other);
    service.say(() => ({
      operations: [
        operation({
          kind: 'reword',
          remove: lines('user/food.md', other, 3),
          add: { path: 'user/food.md', heading: null, lines: ['- Allergic to eggs and nuts'] },
        }),
      ],
    }));
    service.judge(verdicts({ 1: 'keeps' }));
    expect(await service.dream('alice')).toMatchObject({ outcome: 'waiting' });
  });

  it('calls an operation stale whose lines are gone when somebody applies it, and says why', async () => {
    const { service, act } = await openWithFood();
    await service.write('alice', 'user/food.md', '# Food\n\n- Likes bread\n');
    const answer = await act('apply', { paths: ['users/alice/food.md'] });
    expect(answer.decided).toEqual([
      { number: 2, status: 'stale', why: 'One of its lines is gone by now.' },
    ]);
    expect(answer.outcome).toBe('partial');
  });

  it('calls an operation stale that nobody decided on for dream_waiting_days', async () => {
    const { service, run, waiting } = await openWithFood({ dream_waiting_days: 2 });
    service.clock.advance(2 * DAY);
    expect((await waiting()).status).toBe(1);
    service.clock.advance(1);
    const { json } = await service.admin('GET', `dream/runs/${run.id}`);
    expect(json.operations[1]).toMatchObject({
      status: 'stale',
      preselected: false,
      applicable: false,
      why: 'nobody decided on it within 2 days',
    });
    expect(await waiting()).toEqual({ status: 0, user: 0, runs: 0 });
  });

  it('leaves all operations of meaning to a person when the verifier fails, or answers in another form', async () => {
    for (const said of ['no JSON', '{"verdicts": [{"operation": 2}]}', '{"verdicts": "keeps"}']) {
      const service = await openDreams();
      await service.write('alice', 'user/food.md', DIET);
      service.say(fourKinds);
      service.judge(() => said);
      const run = await service.dream('alice');
      expect(statusesOf(run)).toEqual(['applied', 'waiting', 'waiting', 'dropped']);
      expect(run.operations[2]).toMatchObject({
        verdict: 'unsure',
        why: 'The verifier could not tell whether the result is right.',
      });
    }
  });

  it('leaves them to a person, too, when the verifier answers with an error', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/food.md', DIET);
    service.say(fourKinds);
    service.provider.next(
      (exchange) => exchange.sendJson(200, exchange.proper()),
      (exchange) => exchange.sendJson(500, { error: { message: 'no' } }),
    );
    const run = await service.dream('alice');
    expect(run).toMatchObject({ state: 'completed', outcome: 'waiting', operationsWaiting: 2 });
    expect(run.verifier).toBeNull();
  });

  it('counts the tokens of the verifier in the run and in the day', async () => {
    const { service, run } = await openWithFood();
    const used = (await service.core.storage.runs?.of('dreaming').user('u:alice'))?.record
      ?.tokensUsed;
    expect(used).toBe(run.inputTokens + run.outputTokens);
    const questions = service.provider.received.length;
    expect(questions).toBe(2);
    expect(run.verifier).toBe('scripted');
  });

  it('asks nobody for verdicts when the tokens of the day are used up: operations wait', async () => {
    const service = await openDreams({ settings: { dream_max_tokens_per_user_day: 12_000 } });
    await service.write('alice', 'user/food.md', DIET);
    service.say(fourKinds);
    let calls = 0;
    service.provider.always((exchange) => {
      calls += 1;
      const answer = exchange.proper() as { usage: object };
      exchange.sendJson(200, {
        ...answer,
        usage: { prompt_tokens: 11_500, completion_tokens: 10 },
      });
    });
    const run = await service.dream('alice');
    expect(statusesOf(run)).toEqual(['applied', 'waiting', 'waiting', 'dropped']);
    expect(calls).toBe(1);
  });

  it('takes the complete operations of a reply that was cut off', async () => {
    const service = await openDreams();
    await service.write('alice', 'user/food.md', DIET);
    const whole = JSON.stringify(fourKinds());
    service.say(() => whole.slice(0, whole.lastIndexOf('- Food')));
    service.judge(() => '');
    const run = await service.dream('alice');
    expect(statusesOf(run)).toEqual(['applied', 'waiting', 'waiting']);
  });
});

describe('a run in review mode', () => {
  it('writes nothing; an apply takes what is preselected, in one transaction, as dream-agent', async () => {
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    await writeThree(service);
    const run = await service.dream('alice');
    expect(run).toMatchObject({ state: 'completed', outcome: 'waiting', writes: 0 });
    expect(run.operations).toMatchObject([
      { status: 'waiting', preselected: true },
      { status: 'waiting', preselected: true },
    ]);
    expect(await readThree(service)).toEqual(BEFORE);
    const { json } = await service.admin('POST', `dream/runs/${run.id}/apply`, {});
    expect(json).toMatchObject({ outcome: 'applied', filesTouched: 3, writes: 4 });
    expect(await readThree(service)).toEqual(AFTER);
    const { items } = (await service.admin('GET', `revisions?runId=${run.id}`)).json;
    expect(new Set(items.map(({ actor }: { actor: string }) => actor))).toEqual(
      new Set(['dream-agent']),
    );
    expect(await service.read('alice', 'user/dream-log.md')).toContain(run.id);
    const audit = (await service.admin('GET', 'audit?action=dream.apply')).json.items;
    expect(audit).toMatchObject([{ target: run.id, details: { operations: [1, 2] } }]);
    const undone = await service.admin('POST', `dream/runs/${run.id}/revert`, {});
    expect(undone.json).toMatchObject({ outcome: 'reverted', left: [] });
    expect(statusesOf(undone.json)).toEqual(['reverted', 'reverted']);
    expect(await readThree(service)).toEqual(BEFORE);
  });

  it('waits without stopping the next run', async () => {
    const service = await openDreams({ settings: { dream_mode: 'review' } });
    await writeThree(service);
    await service.dream('alice');
    await service.write('alice', 'user/new.md', '- Sings\n');
    service.clock.advance(31 * MINUTE);
    expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
  });
});
