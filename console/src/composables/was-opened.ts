import { ref, type Ref, watch } from 'vue';

/**
 * Whether something is open or ever was. What is loaded at its first use stays on the page then: for
 * the animation when it closes, and to give the focus back.
 */
export function useWasOpened(isOpen: Readonly<Ref<boolean>>): Readonly<Ref<boolean>> {
  const wasOpened = ref(isOpen.value);
  watch(isOpen, () => (wasOpened.value = true));
  return wasOpened;
}
