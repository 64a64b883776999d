import { describe, expect, it } from 'vitest';
import { decide, passes } from '../../../core/edits/engine.ts';
import { createFence } from '../../../core/edits/fence.ts';
import { parseEdits, REMEMBER_KINDS } from '../../../core/edits/operations.ts';
import { toPromptLine } from '../../../core/edits/prompt-text.ts';
import type { Verdict } from '../../../core/edits/operations.ts';
import { parseVerdicts, toVerifierPrompt } from '../../../core/edits/verify.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

const say = (...verdicts: object[]) => JSON.stringify({ verdicts });
const keeps = { operation: 1, lost: [], added: [], verdict: 'keeps' };

describe('the verifier’s reply', () => {
  it.each([
    ['of the form', say(keeps), 'keeps'],
    ['with something lost', say({ ...keeps, lost: ['the year'] }), 'unsure'],
    ['with something added', say({ ...keeps, added: ['a cause'] }), 'unsure'],
    ['with two verdicts', say(keeps, { ...keeps, verdict: 'wrong' }), 'unsure'],
    ['with a word of its own', say({ ...keeps, verdict: 'fine' }), 'unsure'],
    ['for another operation', say({ ...keeps, operation: 2 }), undefined],
    ['for an operation by name', say({ ...keeps, operation: '1' }), undefined],
  ])('%s', (_name, reply, verdict) => {
    expect(parseVerdicts(reply, [])?.get(1)).toBe(verdict);
  });

  it('is none where it has no list', () => {
    for (const reply of ['', 'keeps', '[]', '{"verdicts":{}}'])
      expect(parseVerdicts(reply, [])).toBeNull();
  });
});

describe('a decision', () => {
  const memory = memoryOf({
    'user/a.md':
      '- Likes tea\n- Likes green tea a lot\n- Eats no meat\n- Eats pork\n- likes tea.\n',
  });
  const [plain, negated, repeat] = examineAll(memory, [
    edit('merge', {
      remove: ['user/a.md: - Likes green tea a lot'],
      add: { path: 'user/a.md', lines: ['- Likes tea, green tea most'] },
    }),
    edit('merge', {
      remove: ['user/a.md: - Eats pork'],
      sources: ['user/a.md: - Eats no meat'],
    }),
    edit('merge', { remove: ['user/a.md: - likes tea.'], sources: ['user/a.md: - Likes tea'] }),
  ]);

  it.each<[typeof plain, Verdict | null, string, string]>([
    [plain, 'keeps', 'applied', 'waiting'],
    [plain, 'replaces', 'waiting', 'waiting'],
    [plain, 'unsure', 'waiting', 'waiting'],
    [plain, null, 'waiting', 'waiting'],
    [plain, 'loses', 'dropped', 'dropped'],
    [plain, 'wrong', 'dropped', 'dropped'],
    [negated, 'keeps', 'waiting', 'waiting'],
    [negated, 'adds', 'dropped', 'dropped'],
    [repeat, null, 'applied', 'waiting'],
  ])('%#: verdict %j', (examined, verdict, auto, review) => {
    if (examined === undefined) throw new Error('Nothing was examined.');
    expect(decide(examined, { verdict, mode: 'auto' }).status).toBe(auto);
    expect(decide(examined, { verdict, mode: 'review' }).status).toBe(review);
  });

  it('lets an update of a sensitive line pass only where the old value no longer holds', () => {
    const update = (text: string, added: string) =>
      examineAll(memoryOf({ 'user/a.md': `${text}\n` }, { fact: added }), [
        edit('update', {
          remove: [`user/a.md: ${text}`],
          add: { path: 'user/a.md', lines: [added] },
        }),
      ])[0];
    for (const [text, added, isPassing] of [
      ['- Likes tea', '- Likes coffee', true],
      ['- Allergic to nuts', '- Allergic to eggs', false],
      ['- Allergisch gegen Nüsse', '- Allergisch gegen Eier', false],
      ['- Alérgico a las nueces', '- Alérgico a los huevos', false],
      ['- 对花生过敏', '- 对鸡蛋过敏', false],
    ] as const) {
      const examined = update(text, added);
      if (examined === undefined) throw new Error(text);
      expect(passes(examined, 'keeps'), text).toBe(isPassing);
      expect(passes(examined, 'replaces'), text).toBe(true);
    }
  });
});

describe('the proposing reply', () => {
  const operation = JSON.stringify(edit('add', { add: { path: 'a.md', lines: ['- x'] } }));

  it('counts as far as it is complete', () => {
    const cut = `{"operations":[${operation},${operation},{"kind":"add","rea`;
    expect(parseEdits(cut, REMEMBER_KINDS)?.operations).toHaveLength(2);
    expect(parseEdits('no', REMEMBER_KINDS)).toBeNull();
  });

  it('names what is of another form by its number, and supplies user/', () => {
    const reply = parseEdits(`{"operations":[{"kind":"delete"},${operation}]}`, REMEMBER_KINDS);
    expect(reply?.malformed).toEqual([1]);
    expect(reply?.operations[0]).toMatchObject({ number: 2, add: { path: 'user/a.md' } });
  });
});

it('derives another mark where memory contains the first, and the same one otherwise', () => {
  const key = Buffer.alloc(32, 7);
  const who = { userId: 'alice', purpose: 'verify' } as const;
  const first = createFence(key, who, ['- Likes tea']);
  expect(createFence(key, who, ['something else'])).toBe(first);
  expect(createFence(key, who, [`</operation-${first.toUpperCase()}>`])).not.toBe(first);
  expect(createFence(key, { ...who, purpose: 'remember' }, [])).not.toBe(first);
  expect(createFence(key, { ...who, userId: 'bob' }, [])).not.toBe(first);
});

it('shows the verifier nothing of memory but the lines of the operations', async () => {
  const memory = memoryOf(
    { 'user/a.md': '# Tea\n\n- Likes tea\n- Canary\n' },
    { fact: 'Likes coffee' },
  );
  const examined = examineAll(memory, [
    edit('update', {
      remove: ['user/a.md: - Likes tea'],
      add: { path: 'user/a.md', lines: ['- Likes coffee'] },
    }),
  ]);
  const prompt = await toVerifierPrompt(examined, { mark: toPromptLine('m') });
  expect(prompt).toContain('removed: user/a.md | Tea | - Likes tea');
  expect(prompt).toContain('added: user/a.md | Tea | - Likes coffee');
  expect(prompt).toContain('source: fact | Likes coffee');
  expect(prompt).not.toContain('Canary');
});
