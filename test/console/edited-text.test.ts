import { EditorState } from '@codemirror/state';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EditedText } from '../../console/src/editor/edited-text.ts';

describe('the text of an editor', () => {
  it('is the one of the editor, with the line ends of the file', () => {
    const unit = fc.constantFrom('a', 'b', '\n', '\r\n', '\r');
    const change = fc.record({
      at: fc.nat(40),
      length: fc.nat(4),
      insert: fc.string({ unit: fc.constantFrom('x', '\n'), maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 30 }),
        fc.array(fc.array(change, { minLength: 1, maxLength: 2 }), { maxLength: 5 }),
        (text, transactions) => {
          const edited = new EditedText(text);
          let state = EditorState.create({ doc: text });
          for (const changes of transactions) {
            const { length } = state.doc;
            const { changes: set } = state.update({
              changes: changes.map(({ at, length: removed, insert }) => ({
                from: Math.min(at, length),
                to: Math.min(at + removed, length),
                insert,
              })),
            });
            const before = state;
            state = before.update({ changes: set }).state;
            const result = edited.change(set);
            expect(result.replaceAll(/\r\n?/g, '\n')).toBe(state.doc.toString());
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each(['\n', '\r\n', '\r'])('keeps the lines that nobody touched: %j', (lineEnd) => {
    const to = (text: string) => text.replaceAll('\n', lineEnd);
    const edited = new EditedText(to('a\nb\nc\n'));
    const state = EditorState.create({ doc: to('a\nb\nc\n') });
    const { changes } = state.update({ changes: { from: 3, insert: '\nx' } });
    expect(edited.change(changes)).toBe(to('a\nb\nx\nc\n'));
  });

  it('gives new lines the ends of their place', () => {
    const text = 'a\r\nb\nc\r\n';
    const edited = new EditedText(text);
    const state = EditorState.create({ doc: text });
    const { changes } = state.update({
      changes: [
        { from: 1, insert: '\n1' },
        { from: 3, insert: '\n2' },
      ],
    });
    expect(edited.change(changes)).toBe('a\r\n1\r\nb\n2\nc\r\n');
  });
});
