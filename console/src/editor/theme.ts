import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

/** The editor's colours. Its style element carries the page's nonce. */
export function editorTheme(): Extension {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
  return [
    EditorView.cspNonce.of(nonce),
    // Each line reads from the side where its writing begins.
    EditorView.perLineTextDirection.of(true),
    EditorView.contentAttributes.of({ dir: 'auto' }),
    EditorView.theme({
      '&': {
        height: '100%',
        // The same as in the source view, so that nothing moves when editing starts.
        fontSize: '0.75rem',
        backgroundColor: 'var(--ui-bg)',
        color: 'var(--ui-text-highlighted)',
      },
      '&.cm-focused': { outline: 'none' },
      '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.25rem', overflow: 'auto' },
      '.cm-content': { caretColor: 'var(--ui-primary)', paddingBlock: '0.75rem' },
      '.cm-cursor': { borderLeftColor: 'var(--ui-primary)', borderLeftWidth: '2px' },
      '.cm-gutters': {
        backgroundColor: 'var(--ui-bg)',
        color: 'var(--ui-text-dimmed)',
        border: 'none',
        paddingInlineStart: '0.5rem',
      },
      '.cm-activeLine, .cm-activeLineGutter': {
        backgroundColor: 'color-mix(in oklab, var(--ui-bg-elevated) 60%, transparent)',
      },
      '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
        { backgroundColor: 'color-mix(in oklab, var(--ui-primary) 25%, transparent) !important' },
      '.cm-changedLine': { backgroundColor: 'var(--diff-added) !important' },
      '&.cm-merge-a .cm-changedLine': { backgroundColor: 'var(--diff-removed) !important' },
      '.cm-changedText': { background: 'var(--diff-added-word) !important' },
      '&.cm-merge-a .cm-changedText': { background: 'var(--diff-removed-word) !important' },
    }),
  ];
}
