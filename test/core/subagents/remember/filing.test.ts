import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ModelProvider } from '../../../../core/contracts/model-provider.ts';
import { asAdmin, asAgent } from '../../http/serve.ts';
import { edit } from '../../../support/edit-memory.ts';
import { type ModelService, passAll, serveWithModel } from '../../../support/model-service.ts';
import { call, openCore, temporaryDatabase, temporaryDatabases } from '../../../support/service.ts';
import { sqlite } from '../../../support/databases.ts';

const INBOX = 'user/inbox.md';
const PATH = 'user/profile.md';
const AT = '2026-01-31T12:00:00Z';

const keep = (service: ModelService, text: string, more: object = {}, userId = 'alice') =>
  service.execute('memory_remember', { text, at: AT, wait: false, ...more }, { userId });

const addsFact = ({ prompt }: { prompt: string }) => {
  const [, fact = ''] = /<fact-\w+>\n(.*)\n<\/fact/.exec(prompt) ?? [];
  return { operations: [edit('add', { add: { path: PATH, lines: [`- ${fact}`] } })] };
};

async function revisionsOf(service: ModelService) {
  const { json } = await service.request('GET', '/v1/admin/revisions?userId=alice', {
    headers: asAdmin,
  });
  return json.items as {
    path: string;
    actor: string;
    tool: string;
    toolCallId: string;
    reason: string;
  }[];
}

describe('wait: false', () => {
  it('keeps the fact and answers without a model, and the fact is filed once in the background', async () => {
    const service = await serveWithModel();
    service.says(addsFact);
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    service.provider.next((exchange) => {
      void held.then(() => exchange.sendJson(200, exchange.proper()));
    });
    const { status, json } = await keep(service, 'Likes rain.');
    expect(status).toBe(200);
    expect(json.result).toMatchObject({ filed: 'inbox', writes: [{ path: INBOX, version: 1 }] });
    expect(await service.read(INBOX)).toBe(
      '# Inbox\n\n- (said 2026-01-31, to be filed) Likes rain.\n',
    );
    release();
    await service.core.filing.waitIdle();
    expect(await service.read(INBOX)).toBe('# Inbox\n\n');
    expect(await service.read(PATH)).toContain('- Likes rain.');
    expect(service.asked).toHaveLength(1);
    // The line goes and the fact comes in one transaction, by the service and not by the caller.
    const [one, two, kept] = await revisionsOf(service);
    expect([one?.actor, two?.actor, kept?.actor]).toEqual([
      'filing-agent',
      'filing-agent',
      'agent',
    ]);
    expect(one?.toolCallId).toBe(two?.toolCallId);
    expect(new Set([one?.path, two?.path])).toEqual(
      new Set(['users/alice/inbox.md', 'users/alice/profile.md']),
    );
    const call = await service.request(
      'GET',
      `/v1/admin/observability/tool-calls/${one?.toolCallId}`,
      { headers: asAdmin },
    );
    expect(call.json.root).toMatchObject({ actor: 'filing-agent', tool: 'memory_remember' });
  });

  it('files with the day and the speaker of the line, and shows the model memory without it', async () => {
    const service = await serveWithModel();
    service.says(() => ({ operations: [] }));
    await keep(service, 'I moved yesterday.', { speaker: 'Eve', context: 'Where do you live?' });
    await service.core.filing.waitIdle();
    const [{ prompt } = { prompt: '' }] = service.asked;
    expect(prompt).toContain('"yesterday" is 2026-01-30');
    expect(prompt).toContain('It was said by "Eve"');
    expect(prompt).toContain('Where do you live?');
    expect(prompt).not.toContain('to be filed');
  });

  it.each([
    ['refused by the verifier', 'wrong', addsFact],
    [
      'refused by a guard',
      'keeps',
      () => ({
        operations: [edit('add', { add: { path: 'shared/a.md', lines: ['- Likes rain.'] } })],
      }),
    ],
    ['given no usable reply', 'keeps', () => 'no JSON'],
    [
      'said to say nothing, and the verifier finds a fact in it',
      'loses',
      () => ({ operations: [] }),
    ],
  ])(
    'leaves a line for a dream that was %s, and asks no second time',
    async (_what, verdict, answer) => {
      const service = await serveWithModel();
      service.says(answer as () => unknown);
      service.judges(() => ({ verdicts: [{ operation: 1, lost: [], added: [], verdict }] }));
      await keep(service, 'Likes rain.');
      await service.core.filing.waitIdle();
      expect(await service.read(INBOX)).toBe('# Inbox\n\n- (said 2026-01-31) Likes rain.\n');
      expect(await service.read(PATH)).toBeNull();
      const asked = service.asked.length;
      await keep(service, 'Likes rain.');
      await service.core.filing.waitIdle();
      expect(service.asked.length).toBe(asked);
    },
  );

  it('removes a line that says nothing to keep, as a revision', async () => {
    const service = await serveWithModel();
    service.says(() => ({ operations: [] }));
    await keep(service, 'Thanks!');
    await service.core.filing.waitIdle();
    expect(service.judged[0]?.prompt).toContain('kind="discard"');
    expect(await service.read(INBOX)).toBe('# Inbox\n\n');
    expect((await revisionsOf(service))[0]).toMatchObject({
      actor: 'filing-agent',
      reason: 'Memory says so already, or the line says nothing to keep.',
    });
  });

  it('removes a line that memory says already, and asks no verifier', async () => {
    const service = await serveWithModel();
    await service.write(PATH, '- Prefers green tea in the morning.\n');
    service.says(() => ({ operations: [] }));
    await keep(service, 'The user prefers green tea.');
    await service.core.filing.waitIdle();
    expect(service.judged).toEqual([]);
    expect(await service.read(INBOX)).toBe('# Inbox\n\n');
  });

  it('takes a request to forget out together with what it names', async () => {
    const service = await serveWithModel();
    await service.write(PATH, '- Lives in Berlin.\n');
    service.says(() => ({
      forget: true,
      operations: [edit('supersede', { remove: [`${PATH}: - Lives in Berlin.`] })],
    }));
    await keep(service, 'Forget where I live.');
    await service.core.filing.waitIdle();
    expect(await service.read(PATH)).toBe('');
    expect(await service.read(INBOX)).toBe('# Inbox\n\n');
  });

  it('keeps what it could file of a line, and leaves the whole line', async () => {
    const service = await serveWithModel();
    service.says(() => ({
      operations: [
        edit('add', { add: { path: PATH, lines: ['- Likes rain.'] } }),
        edit('add', { add: { path: 'shared/a.md', lines: ['- Likes snow.'] } }),
      ],
    }));
    await keep(service, 'Likes rain and snow.');
    await service.core.filing.waitIdle();
    expect(await service.read(PATH)).toContain('Likes rain.');
    expect(await service.read(INBOX)).toBe('# Inbox\n\n- (said 2026-01-31) Likes rain and snow.\n');
  });

  it('files lines one by one for a user, and loses and doubles none of 20', async () => {
    const service = await serveWithModel();
    let atOnce = 0;
    let most = 0;
    service.provider.always((exchange) => {
      most = Math.max(most, (atOnce += 1));
      setTimeout(() => {
        atOnce -= 1;
        exchange.sendJson(200, exchange.proper());
      }, 5);
    });
    service.says(addsFact);
    await Promise.all(Array.from({ length: 20 }, (_, n) => keep(service, `Fact number ${n}.`)));
    await service.core.filing.waitIdle();
    const lines = (await service.read(PATH))?.match(/Fact number \d+\./g)?.sort();
    expect(lines).toEqual(Array.from({ length: 20 }, (_, n) => `Fact number ${n}.`).sort());
    expect(await service.read(INBOX)).toBe('# Inbox\n\n');
    expect(most).toBe(1);
  });

  it('waits while the model is down, and files when it answers again', async () => {
    const service = await serveWithModel();
    const { core } = service;
    service.provider.always(({ sendJson }) => sendJson(500, {}));
    await keep(service, 'Likes rain.');
    await core.filing.waitIdle();
    expect(await service.read(INBOX)).toContain('to be filed) Likes rain.');
    service.provider.always(null);
    service.says(addsFact);
    // As an operator's restart does.
    core.filing.start();
    await core.filing.waitIdle();
    await expect
      .poll(() => service.read(PATH), { timeout: 60_000, interval: 200 })
      .toContain('Likes rain.');
  });

  it('waits where an operator has stopped who told the line, and files what others told', async () => {
    const service = await serveWithModel();
    service.says(addsFact);
    const admin = async (method: string, path: string, body?: object) =>
      (await service.request(method, `/v1/admin/${path}`, { headers: asAdmin, body })).json;
    const stop = async (target: { actor: string } | { keyId: string }) =>
      (await admin('POST', 'freeze', { ...target, reason: 'an incident', minutes: 5 }))
        .id as string;
    const made = await admin('POST', 'keys', { name: 'intake' });
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    service.provider.next((exchange) => {
      void held.then(() => exchange.sendJson(200, exchange.proper()));
    });
    const tell = (text: string, { actor, key }: { actor?: string; key?: string } = {}) =>
      service.request('POST', '/v1/tools/memory_remember/execute', {
        headers: key === undefined ? asAgent : { authorization: `Bearer ${key}` },
        body: {
          context: { userId: 'alice', ...(actor !== undefined && { actor }) },
          arguments: { text, at: AT, wait: false },
        },
      });
    await tell('Likes rain.');
    await tell('Likes snow.', { actor: 'forger' });
    expect((await tell('Likes hail.', { key: made.key })).status).toBe(200);
    const freezes = [await stop({ actor: 'forger' }), await stop({ keyId: made.id })];
    release();
    await expect.poll(() => service.read(INBOX)).not.toContain('rain');
    await service.core.filing.waitIdle();
    expect(await service.read(INBOX)).toMatch(
      /to be filed\) Likes snow[^]*to be filed\) Likes hail/,
    );
    expect(await service.read(PATH)).not.toMatch(/snow|hail/);
    for (const id of freezes) await admin('DELETE', `freezes/${id}`);
    await tell('Likes fog.');
    await expect.poll(() => service.read(INBOX)).toBe('# Inbox\n\n');
    expect(await service.read(PATH)).toMatch(/rain[^]*snow[^]*hail[^]*fog/);
  });

  it('leaves a line that somebody edits or removes meanwhile as they want it', async () => {
    const service = await serveWithModel();
    service.says(addsFact);
    service.provider.next((exchange) => {
      void service
        .write(INBOX, '# Inbox\n\n- Mine.\n')
        .then(() => exchange.sendJson(200, exchange.proper()));
    });
    await keep(service, 'Likes rain.');
    await service.core.filing.waitIdle();
    expect(await service.read(INBOX)).toBe('# Inbox\n\n- Mine.\n');
    expect(await service.read(PATH)).toBeNull();
  });

  it.each([
    ['copies its line', 'add', [], '- (said 2026-01-31, to be filed) Likes rain.'],
    ['says that another has said it', 'add', [], '- (said 2026-01-31 by "Bob") Likes rain.'],
    ['rewrites a line that waits', 'update', ['I like snow.'], '- Likes rain.'],
  ])('ends when the model %s, and no line is lost', async (_what, kind, removed, line) => {
    const service = await serveWithModel();
    const other = '- (said 2026-01-30 by "Eve", to be filed) I like snow.';
    await service.write(INBOX, `# Inbox\n\n${other}\n`);
    const remove = removed.length === 0 ? [] : [`${INBOX}: ${other}`];
    service.says(({ round }) =>
      round > 10
        ? { operations: [] }
        : { operations: [edit(kind, { remove, add: { path: INBOX, lines: [line] } })] },
    );
    await keep(service, 'Likes rain.');
    await service.core.filing.waitIdle();
    expect(service.asked.length).toBeLessThan(5);
    expect(await service.read(INBOX)).toBe(
      '# Inbox\n\n- (said 2026-01-30 by "Eve") I like snow.\n- (said 2026-01-31) Likes rain.\n',
    );
  });

  it.each([
    ['pinned', '- (said 2026-01-01, to be filed) Likes fog. <!-- pin -->\n'],
    [
      'in a pinned block',
      '<!-- pin -->\n- (said 2026-01-01, to be filed) Likes fog.\n<!-- /pin -->\n',
    ],
    ['in a code block', '```\n- (said 2026-01-01, to be filed) Likes fog.\n```\n'],
    [
      'what other lines hang below',
      '- (said 2026-01-01, to be filed) Likes fog.\n  - In autumn.\n',
    ],
  ])('leaves a line that is %s, and the space around what it files', async (_what, lines) => {
    const service = await serveWithModel();
    const inbox = `# Inbox\n\n${lines}`;
    await service.write(INBOX, inbox);
    service.says(() => ({ operations: [] }));
    for (const thanks of ['Thanks!', 'Thank you!']) {
      await keep(service, thanks);
      await service.core.filing.waitIdle();
      expect(await service.read(INBOX)).toBe(inbox);
    }
    expect(service.asked).toHaveLength(2);
  });

  it('says that no model is configured, and keeps nothing', async () => {
    const core = await openCore();
    await expect(
      core.tools.execute('memory_remember', {
        context: { userId: 'alice' },
        arguments: { text: 'Likes rain.', wait: false },
      }),
    ).rejects.toMatchObject({ code: 'MODEL_NOT_CONFIGURED' });
  });

  it('shows the line in a dry run, and files nothing', async () => {
    const service = await serveWithModel();
    const { json } = await keep(service, 'Likes rain.', { dryRun: true });
    expect(json.result.writes[0].diff).toContain('Likes rain.');
    await service.core.filing.waitIdle();
    expect(await service.read(INBOX)).toBeNull();
    expect(service.asked).toEqual([]);
  });

  it('is unchanged for a fact that is filed word for word', async () => {
    const service = await serveWithModel();
    await service.write(PATH, '- Likes rain.\n');
    await service.core.indexer.drain();
    const { json } = await keep(service, 'The user likes rain');
    expect(json.result).toMatchObject({
      unchanged: true,
      known: [{ path: PATH, line: 1, text: '- Likes rain.' }],
    });
    expect(await service.read(INBOX)).toBeNull();
  });
});

describe('lines of an earlier process', () => {
  it('are filed after the start, and those that were tried before wait for a dream', async () => {
    const service = await serveWithModel();
    service.says(addsFact);
    await service.write(INBOX, '# Inbox\n\n- (said 2026-01-31, to be filed) Likes rain.\n');
    await service.write(INBOX, '# Inbox\n\n- (said 2026-01-31) Likes snow.\n', 'bob');
    service.core.filing.start();
    await service.core.filing.waitIdle();
    expect(await service.read(PATH)).toContain('Likes rain.');
    expect(await service.read(INBOX)).toBe('# Inbox\n\n');
    expect(await service.read(INBOX, 'bob')).toContain('Likes snow.');
    expect(service.asked).toHaveLength(1);
  });

  it('are filed by one of two instances on one database', async () => {
    const database = (await temporaryDatabases())('shared');
    let asked = 0;
    const model: ModelProvider = {
      name: 'scripted',
      model: 'one',
      async generate({ prompt }) {
        const isVerdict = prompt.includes('verdict');
        if (!isVerdict) asked += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        const text = JSON.stringify(isVerdict ? passAll({ prompt }) : addsFact({ prompt }));
        return { text, inputTokens: 1, outputTokens: 1 };
      },
    };
    const open = () => openCore({ storage: sqlite({ filename: database }), model });
    const [one, other] = [await open(), await open()];
    const inbox = Array.from({ length: 5 }, (_, n) => `- (said 2026-01-31, to be filed) No. ${n}.`);
    await call(one, 'alice', 'memory_write', { path: INBOX, content: `${inbox.join('\n')}\n` });
    one.filing.start();
    other.filing.start();
    await Promise.all([one.filing.waitIdle(), other.filing.waitIdle()]);
    const read = async (path: string) =>
      (await call<{ content: string }>(one, 'alice', 'memory_read', { path })).result.content;
    await expect.poll(() => read(INBOX), { timeout: 60_000 }).toBe('');
    expect((await read(PATH)).match(/No\. \d\./g)).toHaveLength(5);
    expect(asked).toBe(5);
  });

  it('keep no process alive that uses the service in process', async () => {
    const database = await temporaryDatabase();
    const script = fileURLToPath(new URL('one-shot.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script, database], {
      timeout: 60_000,
    });
    expect(stdout).toBe('inbox');
    const core = await openCore({ storage: sqlite({ filename: database }) });
    const { result } = await call<{ content: string }>(core, 'alice', 'memory_read', {
      path: INBOX,
    });
    expect(result.content).toContain('to be filed) Likes rain.');
  });
});
