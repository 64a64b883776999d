import {
  Annotation,
  type ChangeSet,
  type EditorState,
  type Extension,
  type SelectionRange,
  StateField,
  Transaction,
} from '@codemirror/state';
import { type EditorView, keymap } from '@codemirror/view';

/** Typing without a pause is undone together, in milliseconds. */
const GROUP_MS = 600;
/** Steps that are kept. */
const LIMIT = 500;

interface Step {
  /** Takes the document back to what it was before. */
  changes: ChangeSet;
  at: number;
  head: number;
}

interface History {
  undone: readonly Step[];
  done: readonly Step[];
}

const travel = Annotation.define<'undo' | 'redo'>();

const history = StateField.define<History>({
  create: () => ({ done: [], undone: [] }),
  update({ done, undone }, transaction) {
    if (!transaction.docChanged) return { done, undone };
    const step = toStep(transaction);
    const direction = transaction.annotation(travel);
    if (direction === 'undo') return { done: done.slice(0, -1), undone: [...undone, step] };
    if (direction === 'redo') return { done: [...done, step], undone: undone.slice(0, -1) };
    const last = done.at(-1);
    const isSameBurst =
      last !== undefined && step.at - last.at < GROUP_MS && transaction.isUserEvent('input.type');
    const joined = isSameBurst
      ? [
          ...done.slice(0, -1),
          { ...last, changes: step.changes.compose(last.changes), at: step.at },
        ]
      : [...done, step];
    return { done: joined.slice(-LIMIT), undone: [] };
  },
});

/** Undo and redo with their usual keys. */
export function undoHistory(): Extension {
  return [
    history,
    keymap.of([
      { key: 'Mod-z', run: (view) => step(view, 'undo'), preventDefault: true },
      { key: 'Mod-y', run: (view) => step(view, 'redo'), preventDefault: true },
      { key: 'Mod-Shift-z', run: (view) => step(view, 'redo'), preventDefault: true },
    ]),
  ];
}

function step(view: EditorView, direction: 'undo' | 'redo'): boolean {
  const { done, undone } = view.state.field(history);
  const target = (direction === 'undo' ? done : undone).at(-1);
  if (target === undefined || view.state.readOnly) return true;
  view.dispatch({
    changes: target.changes,
    selection: { anchor: Math.min(target.head, target.changes.newLength) },
    annotations: [travel.of(direction), Transaction.userEvent.of(direction)],
    scrollIntoView: true,
  });
  return true;
}

function toStep(transaction: Transaction): Step {
  const { startState, changes } = transaction;
  const time = transaction.annotation(Transaction.time) ?? 0;
  return { changes: changes.invert(startState.doc), at: time, head: mainOf(startState).head };
}

function mainOf(state: EditorState): SelectionRange {
  return state.selection.main;
}
