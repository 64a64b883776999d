import { describe, expect, it } from 'vitest';
import type { ExamPart } from '../../../core/contracts/admin.ts';
import { openai } from '../../../plugins/model-openai/index.ts';
import { answerExam, type ExamAnswers } from '../../support/exam-model.ts';
import { type ModelService, serveWithModel } from '../../support/model-service.ts';
import { sqlite } from '../../support/databases.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { openDreams } from '../../plugins/dreaming/dream-service.ts';
import { asAdmin, serveCore } from '../http/serve.ts';

const FACT = 'The user plays chess.';
const COFFEE = {
  forget: false,
  operations: [
    {
      kind: 'add',
      reason: '',
      remove: [],
      add: { path: 'user/chess.md', heading: 'Chess', lines: ['- Plays chess.'] },
      sources: [],
    },
  ],
};

/** A service whose model answers an exam, and files a fact, as it is told. */
async function withModel(answers: ExamAnswers = {}, config: object = {}): Promise<ModelService> {
  const service = await serveWithModel(config);
  service.says(({ prompt }) => answerOf(prompt, answers));
  service.judges(({ prompt }) =>
    prompt.includes('user/people.md') ? answerExam(prompt, answers) : passOne(),
  );
  return service;
}

function answerOf(prompt: string, answers: ExamAnswers): unknown {
  return prompt.includes('chess.') && prompt.includes('The user')
    ? COFFEE
    : answerExam(prompt, answers);
}

function passOne(): object {
  return { verdicts: [{ operation: 1, lost: [], added: [], proof: [], verdict: 'keeps' }] };
}

const admin = (service: Pick<ModelService, 'request'>, method: string, path: string) =>
  service.request(method, `/v1/admin/${path}`, { headers: asAdmin });

/** Runs the exam, and waits for its end. */
async function examine(service: Pick<ModelService, 'request'>) {
  expect((await admin(service, 'POST', 'model/exam')).status).toBe(202);
  for (;;) {
    const { json } = await admin(service, 'GET', 'model/exam');
    if (json.job.state === 'running') continue;
    const parts = json.exam.parts as ExamPart[];
    const part = (name: string) => parts.find((one) => one.part === name);
    return { job: json.job, exam: json.exam, files: part('files'), judges: part('judges') };
  }
}

describe('the exam of a model', () => {
  it('is passed by one that files and judges right, and kept for it alone', async () => {
    const filename = await temporaryDatabase();
    const service = await withModel({}, { storage: sqlite({ filename }) });
    const before = await admin(service, 'GET', 'status');
    expect(before.json.modelExam).toEqual({
      files: null,
      judges: null,
      text: 'Not examined: run memory-service doctor --model.',
    });
    const { files, judges, exam, job } = await examine(service);
    expect(job).toMatchObject({ state: 'completed', error: null });
    expect(files).toMatchObject({
      provider: 'openai',
      address: service.provider.baseUrl,
      model: 'scripted',
      form: 'full',
      passed: true,
      score: 5,
      of: 5,
      failed: [],
    });
    expect(files?.inputTokens).toBeGreaterThan(10);
    expect(judges).toMatchObject({ passed: true, score: 8, of: 8, failed: [] });
    expect(exam.expect).toEqual(['Files facts: yes (5 of 5).', 'Judges edits: yes (8 of 8).']);
    const after = await admin(service, 'GET', 'status');
    expect(after.json.modelExam).toMatchObject({ files: true, judges: true });
    const audit = await admin(service, 'GET', 'audit?action=model.exam');
    expect(audit.json.items).toMatchObject([
      { target: 'scripted', details: { files: true, judges: true } },
    ]);
    // Another model, or the same at another address, was not examined.
    for (const other of [
      { baseUrl: service.provider.baseUrl, name: 'another' },
      { baseUrl: 'http://127.0.0.1:9/v1', name: 'scripted' },
    ]) {
      const storage = sqlite({ filename });
      const next = await serveCore({ storage, model: openai({ ...other, maxRetries: 0 }) });
      expect((await admin(next, 'GET', 'status')).json.modelExam.judges).toBeNull();
    }
  });

  it('is another one each time', async () => {
    const service = await withModel();
    const asked = async () => {
      service.asked.length = 0;
      service.judged.length = 0;
      await examine(service);
      const strip = ({ prompt }: { prompt: string }) => prompt.replaceAll(/[0-9a-f]{16}/g, '');
      return [...service.asked, ...service.judged].map(strip);
    };
    const first = await asked();
    const second = await asked();
    expect(second).toHaveLength(first.length);
    const same = second.filter((prompt) => first.includes(prompt));
    expect(same.length).toBeLessThan(first.length / 2);
  });

  it('is failed by one that answers from memory of an earlier exam', async () => {
    const kept: unknown[] = [];
    const service = await serveWithModel();
    service.says(({ prompt }) => kept[kept.push(answerExam(prompt)) - 1]);
    service.judges(({ prompt }) => answerExam(prompt));
    await examine(service);
    let round = 0;
    service.says(() => kept[round++ % 5]);
    const { files } = await examine(service);
    expect(files?.passed).toBe(false);
  });

  it.each([
    [
      'passes everything',
      (_right: string, kind: string) => (kind === 'supersede' ? 'replaces' : 'keeps'),
      5,
    ],
    ['passes nothing', () => 'wrong', 3],
    ['cannot tell', () => 'unsure', 3],
  ])('is failed by a judge that %s', async (_what, judge, fewest) => {
    const service = await withModel({ judge });
    const { judges, files, exam } = await examine(service);
    expect(judges?.passed).toBe(false);
    expect(judges?.failed.length).toBe(fewest);
    expect(files?.passed).toBe(true);
    expect(exam.expect[1]).toContain('Judges edits: no');
  });

  it('is failed by one that answers half of it, or no JSON', async () => {
    let round = 0;
    const half = await withModel({
      file: (_prompt, right) => (round++ % 2 === 0 ? right : 'Sure!'),
    });
    expect((await examine(half)).files).toMatchObject({ passed: false, score: 3 });
    const none = await withModel({ file: () => 'Sure, I noted it.' });
    expect((await examine(none)).files).toMatchObject({ passed: false, score: 0 });
  });

  it('is failed by one that files facts and loses other lines', async () => {
    const service = await withModel({
      file: (prompt, right) => {
        const id = /^([a-z]\d+)\| - Works/m.exec(prompt)?.[1];
        const { operations } = right as { operations: object[] };
        const more = { kind: 'supersede', reason: '', remove: [id], add: null, sources: [] };
        return { forget: false, operations: [...operations, more] };
      },
    });
    expect((await examine(service)).files?.passed).toBe(false);
  });

  it('keeps nothing where the model cannot be reached', async () => {
    const service = await serveCore({
      model: openai({ baseUrl: 'http://127.0.0.1:9/v1', name: 'gone', maxRetries: 0 }),
    });
    const { job, exam } = await examine(service);
    expect(job).toMatchObject({ state: 'failed', error: 'MODEL_FAILED', result: null });
    expect(exam.parts).toEqual([]);
  });

  it('is 503 without a model', async () => {
    const service = await serveCore();
    const { json } = await admin(service, 'POST', 'model/exam');
    expect(json.error.code).toBe('MODEL_NOT_CONFIGURED');
    expect((await admin(service, 'GET', 'status')).json.modelExam.text).toBeNull();
  });

  it('chooses the short prompts for a model that fails with the full ones', async () => {
    const service = await withModel({
      file: (prompt, right) =>
        service.asked.at(-1)?.system.startsWith('You keep notes') === true ? right : prompt,
    });
    const { files, judges } = await examine(service);
    expect(files).toMatchObject({ passed: true, form: 'short' });
    expect(judges).toMatchObject({ passed: true, form: 'full' });
    service.asked.length = 0;
    await service.execute('memory_remember', { text: FACT });
    expect(service.asked[0]?.system).toMatch(/^You keep notes about one user/);
  });
});

describe('a model that failed at judging', () => {
  const judge = () => 'keeps';

  it('is not asked by memory_remember: the fact stays in the inbox, and a request to forget is refused', async () => {
    const service = await withModel({ judge });
    await examine(service);
    service.asked.length = 0;
    service.judged.length = 0;
    const { status, json } = await service.execute('memory_remember', { text: FACT });
    expect([status, json.result.filed]).toEqual([200, 'inbox']);
    expect(json.result.refused[0].why).toContain('failed its exam');
    expect(await service.read('user/inbox.md')).toContain(FACT);
    const forget = { text: 'Forget my old address.', forget: true };
    const answer = await service.execute('memory_remember', forget);
    expect(answer.json.result).toMatchObject({ writes: [], refused: [{ lines: [] }] });
    expect([service.asked, service.judged]).toEqual([[], []]);
    expect((await admin(service, 'GET', 'status')).json.modelExam).toMatchObject({
      judges: false,
      text: expect.stringContaining('SERVICE_VERIFIER_NAME') as string,
    });
  });

  it('judges no edits of a dream: they wait for a person', async () => {
    const service = await openDreams();
    service.say((prompt) => answerExam(prompt));
    service.judge((prompt) => answerExam(prompt, { judge }));
    await examine(service);
    expect(await dreamOnce(service)).toMatchObject({
      status: 'waiting',
      verdict: null,
      why: 'The verifier failed its exam at judging edits.',
    });
  });
});

describe('dream_require_exam', () => {
  it('makes operations wait until the models have been examined', async () => {
    const service = await openDreams({ settings: { dream_require_exam: true } });
    expect(await dreamOnce(service)).toMatchObject({
      status: 'waiting',
      why: 'The models have not been examined, and dream_require_exam asks for it.',
    });
    service.say((prompt) => answerExam(prompt));
    service.judge((prompt) => answerExam(prompt));
    await examine(service);
    expect(await dreamOnce(service, 'bob')).toMatchObject({ why: null, status: 'applied' });
  });
});

/** The operation of a dream that says a line in fewer words. */
async function dreamOnce(service: Awaited<ReturnType<typeof openDreams>>, userId = 'alice') {
  await service.write(userId, 'user/a.md', '# A\n\n- It is worth noting that she likes tea.\n');
  const add = { path: 'user/a.md', heading: null, lines: ['- Likes tea.'] };
  service.say(() => ({
    operations: [{ kind: 'reword', reason: '', remove: ['a3'], add, sources: [] }],
  }));
  service.judge(passOne);
  const run = await service.dream(userId);
  return run.operations?.[0];
}

describe('the prompts', () => {
  it('are short, and show less, where SERVICE_MODEL_CONTEXT says so', async () => {
    const service = await withModel({}, { modelContext: 4_096 });
    const lines = Array.from({ length: 400 }, (_, at) => `- Note ${at} about the garden.`);
    await service.write('user/long.md', `# Long\n\n${lines.join('\n')}\n- Plays chess badly.\n`);
    await service.execute('memory_remember', { text: FACT });
    const [{ system, prompt } = { system: '', prompt: '' }] = service.asked;
    expect(system).toMatch(/^You keep notes about one user/);
    expect(Buffer.byteLength(system + prompt) / 3).toBeLessThan(4_096 * 0.75);
    expect(prompt).toContain('Plays chess badly.');
    expect(service.provider.received.at(-1)?.body).toMatchObject({
      max_tokens: 1_024,
      temperature: 0,
    });
  });

  it('are those that SERVICE_MODEL_PROMPTS names', async () => {
    const service = await withModel({}, { modelPrompts: 'short' });
    await service.execute('memory_remember', { text: FACT });
    expect(service.asked[0]?.system).toMatch(/^You keep notes/);
    expect(service.judged[0]?.system).toMatch(/^You check edits of notes about people\. For each/);
  });
});
