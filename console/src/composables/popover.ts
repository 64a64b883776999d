import { onUnmounted, ref, type Ref } from 'vue';

/** Pixels between a popover and its button, and at least to the edges of the window. */
const GAP = 4;

/** An element with the attribute `popover`, beside the button whose `popovertarget` is its id. */
export function usePopover(options: {
  id: string;
  element: Readonly<Ref<HTMLElement | null>>;
  /** The side of the button that it is in line with. */
  align: 'start' | 'end';
  /** It is on the page, in its place. */
  onOpen(): void;
}): { isOpen: Readonly<Ref<boolean>>; onToggle(event: Event): Promise<void>; place(): void } {
  const { id, element, align, onOpen } = options;
  const isOpen = ref(false);

  /** Below the button, or above it where there is no room. */
  function place() {
    const button = document.querySelector(`[popovertarget="${id}"]`)?.getBoundingClientRect();
    if (button === undefined || element.value === null) return;
    const { offsetWidth: width, offsetHeight: height } = element.value;
    const left = align === 'start' ? button.left : button.right - width;
    const below = button.bottom + GAP;
    const top = below + height > window.innerHeight - GAP ? button.top - GAP - height : below;
    const within = (value: number, most: number) => Math.max(GAP, Math.min(value, most - GAP));
    element.value.style.left = `${within(left, window.innerWidth - width)}px`;
    element.value.style.top = `${within(top, window.innerHeight - height)}px`;
  }

  async function onToggle(event: Event) {
    isOpen.value = (event as ToggleEvent).newState === 'open';
    const change = isOpen.value ? 'addEventListener' : 'removeEventListener';
    window[change]('scroll', place, { capture: true });
    window[change]('resize', place);
    if (!isOpen.value) return;
    // It is not on the page yet.
    await new Promise(requestAnimationFrame);
    place();
    onOpen();
  }
  onUnmounted(() => {
    window.removeEventListener('scroll', place, { capture: true });
    window.removeEventListener('resize', place);
  });
  return { isOpen, onToggle, place };
}
