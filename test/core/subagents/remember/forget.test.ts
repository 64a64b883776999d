import { describe, expect, it } from 'vitest';
import { asAdmin } from '../../http/serve.ts';
import { edit } from '../../../support/edit-memory.ts';
import { type ModelService, serveWithModel } from '../../../support/model-service.ts';

const PATH = 'user/profile.md';
const PROFILE = '# Profile\n\n- Lives in Berlin.\n- Allergic to eggs and nuts.\n';
const REQUEST = 'Forget where I live.';

async function withProfile(): Promise<ModelService> {
  const service = await serveWithModel();
  await service.write(PATH, PROFILE);
  return service;
}

const takeAway = edit('supersede', { remove: [`${PATH}:3: - Lives in Berlin.`] });
const forget = (service: ModelService, more: object = { forget: true }) =>
  service.execute('memory_remember', { text: REQUEST, ...more });

describe('a request to forget', () => {
  it.each([
    ['the caller says that it is one', { forget: true }, {}],
    ['the model says that it is one', {}, { forget: true }],
  ])(
    'takes lines away, and says that older versions have them, when %s',
    async (_who, args, reply) => {
      const service = await withProfile();
      service.says(() => ({ ...reply, operations: [takeAway] }));
      const { json } = await forget(service, args);
      expect(json.result).toMatchObject({
        filed: 'all',
        history: 'kept',
        writes: [{ path: PATH }],
        refused: [],
      });
      expect(await service.read(PATH)).toBe('# Profile\n\n- Allergic to eggs and nuts.\n');
      expect(await service.read('user/inbox.md')).toBeNull();
    },
  );

  it('takes a part of a line away where the rest stays true', async () => {
    const service = await withProfile();
    service.says(() => ({
      operations: [
        edit('update', {
          remove: [`${PATH}: - Allergic to eggs and nuts.`],
          add: { path: PATH, lines: ['- Allergic to nuts.'] },
        }),
      ],
    }));
    const { json } = await forget(service, { text: 'Forget the eggs.', forget: true });
    expect(json.result).toMatchObject({ filed: 'all', history: 'kept' });
    expect(await service.read(PATH)).toContain('- Allergic to nuts.\n');
  });

  it.each([
    ['the verifier refuses it', 'loses', takeAway, ['- Lives in Berlin.']],
    [
      'its line is protected',
      'replaces',
      edit('supersede', { remove: [`${PATH}:1: # Profile`] }),
      ['# Profile'],
    ],
  ])(
    'never goes to the inbox, and names the lines that stand, when %s',
    async (_why, verdict, operation, lines) => {
      for (const [args, reply] of [
        [{ forget: true }, {}],
        [{}, { forget: true }],
      ]) {
        const service = await withProfile();
        service.says(() => ({ ...reply, operations: [operation] }));
        service.judges(() => ({ verdicts: [{ operation: 1, lost: [], added: [], verdict }] }));
        const { json } = await forget(service, args);
        expect(json.result).toMatchObject({ writes: [], unchanged: false, refused: [{ lines }] });
        expect(json.result).not.toHaveProperty('filed');
        expect(json.result).not.toHaveProperty('history');
        expect(await service.read(PATH)).toBe(PROFILE);
        expect(await service.read('user/inbox.md')).toBeNull();
      }
    },
  );

  it('brings nothing new', async () => {
    const service = await withProfile();
    service.says(() => ({
      operations: [edit('add', { add: { path: PATH, lines: ['- Lives nowhere.'] } })],
    }));
    const { json } = await forget(service);
    expect(json.result).toMatchObject({ writes: [], refused: [{}] });
    expect(await service.read(PATH)).toBe(PROFILE);
  });

  it('says so when the model finds no line', async () => {
    const service = await withProfile();
    service.says(() => ({ operations: [] }));
    const { json } = await forget(service);
    expect(json.result).toMatchObject({
      writes: [],
      unchanged: false,
      refused: [{ why: 'The model found no line that the request names.', lines: [] }],
    });
  });

  it('is no request because a model says so that takes nothing away', async () => {
    const service = await withProfile();
    service.says(() => ({ forget: true, operations: [] }));
    const { json } = await forget(service, { text: "Don't forget that I need insulin." });
    expect(json.result.filed).toBe('inbox');
    expect(await service.read('user/inbox.md')).toContain('insulin');
  });

  it('fails with the model, since it is kept nowhere', async () => {
    const service = await withProfile();
    service.says(() => 'no JSON');
    const malformed = await forget(service);
    expect([malformed.status, malformed.json.error.code]).toEqual([502, 'MODEL_FAILED']);
    service.says(() => ({ operations: [takeAway] }));
    service.judges(() => 'no JSON');
    expect((await forget(service)).json.error.code).toBe('MODEL_FAILED');
    service.modelTimeoutMs = 50;
    service.provider.always(() => undefined);
    const late = await forget(service);
    expect([late.status, late.json.error.code]).toEqual([504, 'MODEL_TIMEOUT']);
    expect(await service.read('user/inbox.md')).toBeNull();
    expect(await service.read(PATH)).toBe(PROFILE);
  });

  it('can not wait', async () => {
    const service = await withProfile();
    const { status, json } = await forget(service, { forget: true, wait: false });
    expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(json.error.details.issues).toMatchObject([{ path: '/wait' }]);
  });

  it('takes a line of the inbox away, too', async () => {
    const service = await withProfile();
    service.says(() => 'no JSON');
    await service.execute('memory_remember', {
      text: 'My PIN hint is blue.',
      at: '2026-01-31T00:00:00Z',
    });
    service.says(() => ({
      operations: [
        edit('supersede', { remove: ['user/inbox.md: - (said 2026-01-31) My PIN hint is blue.'] }),
      ],
    }));
    const { json } = await forget(service, { text: 'Forget the hint.', forget: true });
    expect(json.result.filed).toBe('all');
    expect(await service.read('user/inbox.md')).toBe('# Inbox\n\n');
  });
});

describe('hygiene', () => {
  const hygiene = async (service: ModelService) => {
    const { json } = await service.request('GET', '/v1/admin/observability/hygiene?userId=alice', {
      headers: asAdmin,
    });
    const findings = json.findings as {
      kind: string;
      severity: string;
      places: object[];
      request: { toolCallId: string; revisions: { id: string; lines: number[] }[] };
    }[];
    return findings.filter(({ kind }) => kind === 'forget_requested');
  };

  it('lists what was taken away on request by its ids, until history has it no more', async () => {
    const service = await withProfile();
    service.says(() => ({ operations: [takeAway] }));
    const { json } = await forget(service);
    const [finding, ...others] = await hygiene(service);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      severity: 'medium',
      places: [{ path: 'users/alice/profile.md', lines: [] }],
      request: {
        toolCallId: json.toolCallId,
        revisions: [{ id: json.result.writes[0].revisionId, lines: [3] }],
      },
    });
    expect(JSON.stringify(finding)).not.toContain('Berlin');
    await service.write(PATH, '# Profile\n');
    const pruned = await service.request('POST', '/v1/admin/revisions/prune', {
      headers: asAdmin,
      body: { keepLast: 1, userId: 'alice' },
    });
    expect(pruned.status, pruned.text).toBe(200);
    expect(await hygiene(service)).toEqual([]);
  });

  it('lists what could not be taken away where it stands now, until it is gone', async () => {
    const service = await withProfile();
    service.says(() => ({ operations: [takeAway] }));
    service.judges(() => ({
      verdicts: [{ operation: 1, lost: [], added: [], verdict: 'unsure' }],
    }));
    const { json } = await forget(service);
    await service.write(PATH, `- First.\n${PROFILE}`);
    const [finding] = await hygiene(service);
    expect(finding).toMatchObject({
      severity: 'high',
      places: [{ path: 'users/alice/profile.md', lines: [4] }],
      request: { toolCallId: json.toolCallId, revisions: [] },
    });
    await service.write(PATH, '# Profile\n');
    expect(await hygiene(service)).toEqual([]);
  });

  it('says nothing of a fact that ends a line and asks to forget nothing', async () => {
    const service = await withProfile();
    service.says(() => ({ operations: [takeAway] }));
    const { json } = await forget(service, { text: 'I no longer live in Berlin.' });
    expect(json.result.filed).toBe('all');
    expect(json.result).not.toHaveProperty('history');
    expect(await hygiene(service)).toEqual([]);
  });
});
