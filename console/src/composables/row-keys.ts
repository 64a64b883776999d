import { nextTick, watch } from 'vue';
import { useShortcuts } from './shortcuts.ts';

/** Keys pressed before the rows were loaded. */
interface EarlyKeys {
  steps: number;
  isPressed: boolean;
  /** The focus at that time; if it has moved, the keys are dropped. */
  focused: Element | null;
}

/**
 * `j` and `k` move the focus through the rows of the view: elements with `data-row`, which can be
 * focused and pressed. Keys pressed while the rows are loading, including Enter, are applied when the
 * rows appear.
 */
export function useRowKeys(isLoading: () => boolean): void {
  let early: EarlyKeys | null = null;

  function move(by: number): void {
    if (isLoading()) {
      const steps = Math.max(1, (early?.steps ?? 0) + by);
      early = { steps, isPressed: false, focused: document.activeElement };
      return;
    }
    const rows = listRows();
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    void nextTick(() => focusRow(rows, at < 0 ? 0 : at + by));
  }

  function press(): boolean {
    if (early === null || !isLoading() || early.focused !== document.activeElement) return false;
    early.isPressed = true;
    return true;
  }

  watch(
    isLoading,
    () => {
      const keys = early;
      early = null;
      if (keys === null || isLoading() || keys.focused !== document.activeElement) return;
      const row = focusRow(listRows(), keys.steps - 1);
      if (keys.isPressed) row?.click();
    },
    { flush: 'post' },
  );
  useShortcuts({ j: () => move(1), k: () => move(-1), enter: press });
}

function listRows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('[data-row]:not(:disabled)')];
}

function focusRow(rows: readonly HTMLElement[], at: number): HTMLElement | null {
  const row = rows[Math.max(0, Math.min(at, rows.length - 1))] ?? null;
  row?.focus();
  row?.scrollIntoView({ block: 'nearest' });
  return row;
}
