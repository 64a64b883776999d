import { onMounted, onUnmounted, ref, type Ref, watch } from 'vue';
import { onBeforeRouteLeave, onBeforeRouteUpdate, type RouteLocationNormalized } from 'vue-router';

/** Asks before a route is left whose changes are not saved. */
export interface LeaveGuard {
  /** Whether the question is shown. Closing it means to stay. */
  readonly isAsking: Ref<boolean>;
  /** Resolves when the operator has answered. */
  mayLeave(): Promise<boolean> | boolean;
  decide(isLeaving: boolean): void;
}

/** Guards the route of the view, and the page. */
export function useLeaveGuard(options: {
  isDirty: () => boolean;
  /** Whether another address of the view shows the same changes. */
  stays: (to: RouteLocationNormalized) => boolean;
  discard: () => void;
}): LeaveGuard {
  const { isDirty, stays, discard } = options;
  const isAsking = ref(false);
  let settle: ((isLeaving: boolean) => void) | null = null;

  function mayLeave(): Promise<boolean> | boolean {
    if (!isDirty()) return true;
    isAsking.value = true;
    return new Promise((resolve) => (settle = resolve));
  }
  function decide(isLeaving: boolean): void {
    if (isLeaving) discard();
    isAsking.value = false;
    settle?.(isLeaving);
    settle = null;
  }
  watch(isAsking, (isOpen) => {
    if (!isOpen) decide(false);
  });
  onBeforeRouteLeave(mayLeave);
  onBeforeRouteUpdate((to) => (stays(to) ? true : mayLeave()));
  const onUnload = (event: BeforeUnloadEvent): void => {
    if (isDirty()) event.preventDefault();
  };
  onMounted(() => window.addEventListener('beforeunload', onUnload));
  onUnmounted(() => window.removeEventListener('beforeunload', onUnload));
  return { isAsking, mayLeave, decide };
}
