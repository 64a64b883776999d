import { onMounted, onUnmounted } from 'vue';

/**
 * Keys and their actions. `g f` means one key after the other, `mod+k` means Ctrl or Command. If an
 * action returns `false`, the page handles the key.
 */
export type Shortcuts = Readonly<Record<string, () => unknown>>;

/** The first key of every pair, and milliseconds to wait for the second. */
const PAIR_KEY = 'g';
const PAIR_MS = 1_200;

/** The key that this machine's people press with others. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';

/** Listens while the component is mounted. Text fields get plain keys. */
export function useShortcuts(shortcuts: Shortcuts): void {
  let pairAt: number | null = null;

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
    // The second key of a pair is never a key of its own, also where another listener has the pair.
    const isSecond = pairAt !== null && event.timeStamp - pairAt < PAIR_MS;
    pairAt = key === PAIR_KEY ? event.timeStamp : null;
    run(isSecond ? `${PAIR_KEY} ${key}` : key, event);
  }

  function run(keys: string, event: KeyboardEvent): void {
    const action = shortcuts[keys];
    if (action !== undefined && action() !== false) event.preventDefault();
  }

  onMounted(() => window.addEventListener('keydown', onKeydown));
  onUnmounted(() => window.removeEventListener('keydown', onKeydown));
}

/** Whether a key goes into a text field. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && target.type === 'checkbox') return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="dialog"]') !== null;
}

/** A closing dialog still has the focus, but keys are meant for the page. */
function isLeft(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest('[role="dialog"][data-state="closed"]') !== null
  );
}
