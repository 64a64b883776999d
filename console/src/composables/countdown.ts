import { onScopeDispose, readonly, ref, type Ref } from 'vue';

/** The remaining seconds of a wait. */
export interface Countdown {
  /** Whole seconds; 0 when there is nothing to wait for. */
  readonly seconds: Readonly<Ref<number>>;
  start(seconds: number): void;
}

/** Counts down once a second, then calls `onEnd`. Stops when the component is unmounted. */
export function useCountdown(onEnd: () => void): Countdown {
  const seconds = ref(0);
  let endsAt = 0;
  let timer = 0;

  function tick(): void {
    seconds.value = Math.max(0, Math.ceil((endsAt - performance.now()) / 1000));
    if (seconds.value > 0) return;
    window.clearInterval(timer);
    onEnd();
  }

  onScopeDispose(() => window.clearInterval(timer));
  return {
    seconds: readonly(seconds),
    start(wait) {
      window.clearInterval(timer);
      endsAt = performance.now() + wait * 1000;
      seconds.value = wait;
      timer = window.setInterval(tick, 1000);
    },
  };
}

/** `1 second`, `40 seconds`. */
export function inSeconds(count: number): string {
  return count === 1 ? '1 second' : `${count} seconds`;
}
