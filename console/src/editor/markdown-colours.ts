import { type Extension, RangeSetBuilder } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { tokeniseMarkdown } from '../markdown-tokens.ts';

/** Colours markdown in the editor with the same `.md-…` classes as the source view. */
export function markdownColours(): Extension {
  return ViewPlugin.define(
    (view) => ({
      decorations: decorate(view),
      update(change: ViewUpdate) {
        if (change.docChanged || change.viewportChanged) this.decorations = decorate(change.view);
      },
    }),
    { decorations: (plugin: { decorations: DecorationSet }) => plugin.decorations },
  );
}

function decorate({ state, viewport }: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const last = state.doc.lineAt(viewport.to).number;
  const first = state.doc.lineAt(viewport.from).number;
  // From the first line, because a code block may start above the visible part.
  const lines = Array.from({ length: last }, (_, index) => state.doc.line(index + 1).text);
  const tokens = tokeniseMarkdown(lines);
  for (let number = first; number <= last; number += 1) {
    const { from } = state.doc.line(number);
    for (const token of tokens[number - 1] ?? []) {
      const mark = Decoration.mark({ class: `md-${token.kind}` });
      builder.add(from + token.from, from + token.to, mark);
    }
  }
  return builder.finish();
}
