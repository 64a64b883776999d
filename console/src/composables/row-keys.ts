import { nextTick } from 'vue';
import { useShortcuts } from './shortcuts.ts';

/**
 * `j` and `k` move the focus through the rows of the view: elements with `data-row`, which can be
 * focused and pressed.
 */
export function useRowKeys(): void {
  function move(by: number): void {
    const rows = [...document.querySelectorAll<HTMLElement>('[data-row]:not(:disabled)')];
    if (rows.length === 0) return;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? 0 : Math.max(0, Math.min(at + by, rows.length - 1))];
    void nextTick(() => {
      next?.focus();
      next?.scrollIntoView({ block: 'nearest' });
    });
  }
  useShortcuts({ j: () => move(1), k: () => move(-1) });
}
