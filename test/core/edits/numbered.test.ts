import { describe, expect, it } from 'vitest';
import type { EditedFile } from '../../../core/edits/edited-memory.ts';
import { listNumbered, nameLines } from '../../../core/edits/numbered.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

const FOOD = '# Food\n\n- Prefers tea.\n- Likes tea.\n\n## Old\n\n- Prefers tea.\n';
const HOME = '# Home\n\n- Lives in Berlin.\n';
const FILES = { 'user/food.md': FOOD, 'user/home.md': HOME };
const FACT = 'I prefer coffee now.';

function examine(
  operation: object,
  { fact, files = FILES }: { fact?: string; files?: object } = {},
) {
  const memory = memoryOf({ ...files }, fact === undefined ? {} : { fact });
  const [examined] = examineAll(memory, [operation]);
  if (examined === undefined) throw new Error('The operation is not of the form asked for.');
  return { ...examined, why: examined.fault?.why ?? null };
}

const update = (remove: string, line = '- Prefers coffee.', path = 'user/food.md') =>
  edit('update', { remove: [remove], add: { path, lines: [line] } });

describe('the id of a line', () => {
  it('is unique over all files that are shown, whatever their order', () => {
    const many = Array.from({ length: 60 }, (_, at) => ({
      path: `user/${String(at).padStart(2, '0')}.md`,
      version: 1,
      content: '- One.\n- Two.\n',
    }));
    const ids = (files: typeof many) =>
      nameLines(files).flatMap((file) =>
        [...listNumbered(file, null)].map((line) => `${file.path} ${line.split('|')[0]}`),
      );
    expect(new Set(ids(many).map((id) => id.split(' ')[1])).size).toBe(120);
    expect(ids([...many].reverse()).sort()).toEqual(ids(many).sort());
    expect(ids(many)).toContain('user/26.md aa1');
  });

  it('stays that of the line when further files are shown', () => {
    const fileOf = (path: string): EditedFile => ({ path, version: 1, content: '- A.\n' });
    const named = nameLines([fileOf('user/b.md')]);
    const later = nameLines([fileOf('user/a.md'), ...named]);
    expect(later.map(({ letters }) => letters)).toEqual(['b', 'a']);
  });

  it('names a line without a quotation', () => {
    const { why, remove, operation } = examine(update('a3'), { fact: FACT });
    expect(why).toBeNull();
    expect(remove).toMatchObject([{ path: 'user/food.md', line: 3, text: '- Prefers tea.' }]);
    expect(operation.repaired).toEqual([]);
  });

  it('tells two equal lines apart', () => {
    const removed = (id: string) => examine(update(id), { fact: FACT }).remove[0];
    expect(removed('a3')).toMatchObject({ line: 3, heading: 'Food' });
    expect(removed('a8')).toMatchObject({ line: 8, heading: 'Food > Old' });
  });

  it.each([
    ['the text behind it', 'a3| - Prefers tea.', []],
    ['its date', 'a3 2026-05-01| - Prefers tea.', []],
    ['other letters', 'A3', []],
    ['a text that differs in form', 'a3| Prefers  tea', ['quote']],
  ])('may have %s', (_what, id, repaired) => {
    const { why, operation, remove } = examine(update(id), { fact: FACT });
    expect([why, operation.repaired, remove[0]?.line]).toEqual([null, repaired, 3]);
  });

  it.each([
    ['of no file', 'q3', 'q3 is the id of no line that was shown.'],
    ['of no line', 'a99', 'a99 is the id of no line that was shown.'],
    ['of an empty line', 'a2', 'a2 is an empty line.'],
    ['with the text of another line', 'a4| - Prefers tea.', 'a4 is not that of the line.'],
  ])('%s is refused', (_what, id, why) => {
    expect(examine(update(id), { fact: FACT }).why).toContain(why);
  });

  it('that was left out of the prompt names nothing', () => {
    const memory = memoryOf({ 'user/food.md': FOOD }, { fact: FACT });
    const files = memory.files.map((file) => ({ ...file, shown: new Set([4]) }));
    const [examined] = examineAll({ ...memory, files }, [update('a3')]);
    expect(examined?.fault?.why).toBe('a3 is the id of no line that was shown.');
  });

  it.each([
    ['an object with the id', { id: 'a3' }],
    ['the id as the number of the line', { path: 'user/food.md', line: 'a3', text: '' }],
    ['path, number and text', { path: 'user/food.md', line: 3, text: '- Prefers tea.' }],
    ['a number in quotation marks', { path: 'user/food.md', line: '3', text: '- Prefers tea.' }],
  ])('is understood in another form: %s', (_what, named) => {
    const operation = { ...update('a3'), remove: [named] };
    const { why, remove } = examine(operation, { fact: FACT });
    expect([why, remove[0]?.line]).toEqual([null, 3]);
  });

  it('is no source where it is not known, and none is needed', () => {
    const operation = { ...update('a3'), sources: ['fact', 'q9'] };
    const { why, operation: mended } = examine(operation, { fact: FACT });
    expect([why, mended.repaired]).toEqual([null, ['source']]);
  });
});

describe('an update of a line that is named by its id alone', () => {
  const files = { 'user/home.md': HOME, 'user/日常.md': '# 日常\n\n- 每天早上喝绿茶。\n' };

  it.each([
    ['- Plays chess.', 'I play chess.', 'user/home.md', 'a3', 'Home'],
    ['- 养了一只猫', '我养了一只猫', 'user/日常.md', 'b3', '日常'],
  ])('and has nothing in common with it stands beside it: %s', (line, fact, path, id, heading) => {
    const { why, operation, remove, add } = examine(update(id, line, path), { fact, files });
    expect([why, operation.kind, remove]).toEqual([null, 'add', []]);
    expect(operation.repaired).toEqual(['beside']);
    expect(add).toMatchObject({ path, heading, lines: [line] });
  });

  it.each([
    ['a word', '- Lives in Oslo.', 'I am in Oslo now.', 'user/home.md', 'a3'],
    ['a word with the fact', '- Wohnt in Oslo.', 'I left Berlin for Oslo.', 'user/home.md', 'a3'],
    ['a word of a script without spaces', '- 改喝红茶。', '我改喝红茶', 'user/日常.md', 'b3'],
  ])('and has %s in common takes its place', (_what, line, fact, path, id) => {
    const { why, operation } = examine(update(id, line, path), { fact, files });
    expect([why, operation.kind, operation.repaired]).toEqual([null, 'update', []]);
  });

  it('takes its place where the model quotes it, too', () => {
    const operation = update('a3| - Lives in Berlin.', '- Plays chess.', 'user/home.md');
    expect(examine(operation, { fact: 'I play chess.', files }).operation.kind).toBe('update');
  });

  it('waits in a dream', () => {
    const reword = (id: string) =>
      edit('reword', { remove: [id], add: { path: 'user/home.md', lines: ['- Plays chess.'] } });
    expect(examine(reword('b3')).signals).toContain('other_subject');
    expect(examine(reword('b3| - Lives in Berlin.')).signals).not.toContain('other_subject');
  });
});
