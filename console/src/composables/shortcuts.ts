import { onMounted, onUnmounted } from 'vue';

/**
 * Keys and what they do: `g f` is one after the other, `mod+k` is Ctrl or Command. An action that
 * answers `false` leaves the key to the page.
 */
export type Shortcuts = Readonly<Record<string, () => unknown>>;

/** How long the second key of a pair may take, in milliseconds. */
const PAIR_MS = 1_200;

/** Listens while the component is there. Plain keys are left to fields that take text. */
export function useShortcuts(shortcuts: Shortcuts): void {
  let first: { key: string; at: number } | null = null;

  function onKeydown(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const isModified = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (isModified) {
      run(`mod+${key}`, event);
      return;
    }
    if (event.altKey) return;
    if (!isLeft(event.target) && (isTyping(event.target) || isInDialog(event.target))) return;
    const pair =
      first !== null && event.timeStamp - first.at < PAIR_MS ? `${first.key} ${key}` : '';
    first = { key, at: event.timeStamp };
    if (!run(pair, event)) run(key, event);
  }

  function run(keys: string, event: KeyboardEvent): boolean {
    const action = shortcuts[keys];
    if (action === undefined || action() === false) return false;
    event.preventDefault();
    first = null;
    return true;
  }

  onMounted(() => window.addEventListener('keydown', onKeydown));
  onUnmounted(() => window.removeEventListener('keydown', onKeydown));
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="dialog"]') !== null;
}

/** A dialog that fades away still holds the focus: what is typed then is meant for the page. */
function isLeft(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest('[role="dialog"][data-state="closed"]') !== null
  );
}
