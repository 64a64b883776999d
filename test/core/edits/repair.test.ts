import { describe, expect, it } from 'vitest';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

const PATH = 'user/People/anna.md';
const LINE = '- Anna’s flat — 3rd floor, “no” lift.';
const CONTENT = `# Anna\n\n${LINE}\n- Likes tea.\n- Likes  tea!\n`;
const FACT = 'Anna moved to a house.';

function examine(operation: object, { fact = FACT, content = CONTENT } = {}) {
  const memory = memoryOf({ [PATH]: content, 'user/b.md': '- B.\n' }, { fact });
  const [examined] = examineAll(memory, [operation]);
  const { fault, operation: mended } = examined ?? {};
  return { fault: fault?.why ?? null, mended, repaired: mended?.repaired ?? [] };
}

const update = (text: string, more: object = {}) =>
  edit('update', {
    remove: [`${PATH}: ${text}`],
    add: { path: PATH, lines: ['- Anna lives in a house.'] },
    ...more,
  });

describe('what a model may get wrong without loss', () => {
  it.each([
    ['spaces', '-  Anna’s   flat — 3rd floor, “no” lift. '],
    ['quotes', '- Anna\'s flat — 3rd floor, "no" lift.'],
    ['dashes', '- Anna’s flat - 3rd floor, “no” lift.'],
    ['the bullet', '• Anna’s flat — 3rd floor, “no” lift.'],
    ['final punctuation', '- Anna’s flat — 3rd floor, “no” lift'],
    ['the number of the prompt in front', '3| - Anna’s flat — 3rd floor, “no” lift.'],
  ])('is %s of a quotation', (_what, text) => {
    const { fault, mended, repaired } = examine(update(text));
    expect([fault, repaired]).toEqual([null, ['quote']]);
    expect(mended?.remove).toEqual([{ path: PATH, line: 3, text: LINE }]);
  });

  it.each([
    ['that fits two lines', '- likes tea', '- Likes tea.'],
    ['of another word', '- Anna’s flat — 4th floor, “no” lift.', LINE],
    ['of another case', '- ANNA’s flat — 3rd floor, “no” lift.', LINE],
    ['of a part of a line', '- Anna’s flat', LINE],
  ])('is no quotation %s: no other line is picked', (_what, text) => {
    const { fault } = examine(update(text));
    expect(fault).toBe('A quoted line is not in the file.');
  });

  it('is the number of a line, where its text is there once', () => {
    const operation = edit('update', {
      remove: [`${PATH}:9: ${LINE}`],
      add: { path: PATH, lines: ['- Anna lives in a house.'] },
    });
    expect(examine(operation)).toMatchObject({ fault: null, repaired: ['line'] });
    const twice = `${CONTENT}\n\n## Old\n\n${LINE}\n`;
    expect(examine(operation, { content: twice }).fault).toContain('occurs several times');
  });

  it.each([
    ['no user/', 'People/anna.md'],
    ['another case', 'user/people/Anna.md'],
    ['both', 'people/anna.md'],
  ])('is a path with %s', (_what, path) => {
    const operation = edit('add', { add: { path, lines: ['- Has a house.'] } });
    const { fault, mended, repaired } = examine(operation);
    expect([fault, mended?.add?.path, repaired]).toEqual([null, PATH, ['path']]);
  });

  it('is no path that fits two files', () => {
    const memory = memoryOf({ 'user/A.md': '- A.\n', 'user/a.md': '- A.\n' }, { fact: FACT });
    const operation = edit('update', {
      remove: ['user/A.MD: - A.'],
      add: { path: 'user/A.MD', lines: ['- B.'] },
    });
    expect(examineAll(memory, [operation])[0]?.fault?.why).toContain('was not shown');
  });

  it.each(['fact-0123456789abcdef', 'facts', 'Fact', 'fact:1', 'user/fact'])(
    'is the mark of the fact as its path: %s',
    (path) => {
      const operation = edit('add', { add: { path: PATH, lines: ['- Has a house.'] } });
      const sources = [{ path, line: 1, text: FACT }];
      expect(examine({ ...operation, sources })).toMatchObject({
        fault: null,
        repaired: ['fact'],
      });
      // Nobody removes a line of the fact.
      expect(examine({ ...operation, remove: sources })).toMatchObject({
        fault: null,
        mended: { remove: [] },
      });
    },
  );

  it('is no mark of the fact where a file has that name', () => {
    const memory = memoryOf({ 'user/facts.md': '- One.\n' }, { fact: FACT });
    const operation = edit('update', {
      remove: ['facts.md: - One.'],
      add: { path: 'facts.md', lines: ['- Two.'] },
    });
    expect(examineAll(memory, [operation])[0]).toMatchObject({
      fault: null,
      operation: { remove: [{ path: 'user/facts.md' }] },
    });
  });

  it.each([
    ['a file that is not there', 'user/none.md:1: - Nothing.'],
    ['a line that is not there', `${PATH}:1: - Nothing.`],
    ['words that the fact does not have', 'fact:1: Anna sold the flat.'],
  ])('is a source of %s, where none is needed', (_what, source) => {
    const { sources } = edit('update', { sources: [source] }) as { sources: object[] };
    const { fault, repaired } = examine({ ...update(LINE), sources });
    expect([fault, repaired]).toEqual([null, ['source']]);
  });

  it('is a heading that stands first among the lines', () => {
    const add = (path: string, heading: string | null, lines: string[]) =>
      examine(edit('add', { add: { path, heading, lines } }));
    expect(add('user/house.md', null, ['# House', '', '- Anna has a house.'])).toMatchObject({
      fault: null,
      repaired: ['heading'],
      mended: { add: { heading: 'House', lines: ['- Anna has a house.'] } },
    });
    expect(add(PATH, 'Anna', ['## Anna', '- Has a house.'])).toMatchObject({
      fault: null,
      mended: { add: { heading: 'Anna', lines: ['- Has a house.'] } },
    });
    // Elsewhere it would part lines from what they stand under.
    expect(add(PATH, null, ['- Has a house.', '## Ben', '- Has a boat.']).fault).toContain(
      'heading',
    );
    expect(add(PATH, 'Anna', ['## Ben', '- Has a house.']).fault).toContain('heading');
  });

  it('is a bullet of another kind, an empty line, and two lines in one', () => {
    const lines = ['', '• Has a house.\n• Has a dog.', ''];
    expect(examine(edit('add', { add: { path: PATH, lines } }))).toMatchObject({
      fault: null,
      repaired: ['space', 'bullet'],
      mended: { add: { lines: ['- Has a house.', '- Has a dog.'] } },
    });
  });

  it('is an extra field', () => {
    expect(examine({ ...update(LINE), confidence: 1, id: 'x' })).toMatchObject({
      fault: null,
      repaired: [],
    });
  });
});

describe('a file whose lines end with CR alone', () => {
  it('is read line by line, and keeps its line ends', () => {
    const content = '# Anna\r\r- Likes tea.\r- Has a flat.\r';
    const operation = edit('update', {
      remove: [`${PATH}: - Has a flat.`],
      add: { path: PATH, lines: ['- Has a house.'] },
    });
    const memory = memoryOf({ [PATH]: content }, { fact: FACT });
    expect(examineAll(memory, [operation])[0]?.fault).toBeNull();
    const added = edit('add', { add: { path: PATH, lines: ['- Has a house.'] } });
    expect(examineAll(memory, [added])[0]?.fault).toBeNull();
  });
});
