/** Lets so many do something at once; the others wait for their turn. */
export interface Slots {
  /**
   * A place, once one is free. When `signal` gives it up: `null`. `onMoved` is told of each place
   * that becomes free meanwhile, for whomever.
   */
  take(
    limit: number,
    options: { signal: AbortSignal; onMoved: () => void },
  ): Promise<{ free(): void } | null>;
}

/** Makes places whose number may be another one at each call. */
export function createSlots(): Slots {
  let taken = 0;
  const waiting: { limit: number; go(): void; onMoved: () => void }[] = [];

  function free(): void {
    taken -= 1;
    for (const { onMoved } of waiting) onMoved();
    const at = waiting.findIndex(({ limit }) => taken < limit);
    if (at !== -1) waiting.splice(at, 1)[0]?.go();
  }

  function occupy(): { free(): void } {
    taken += 1;
    let isFree = false;
    return {
      free() {
        if (!isFree) free();
        isFree = true;
      },
    };
  }

  return {
    take(limit, { signal, onMoved }) {
      if (signal.aborted) return Promise.resolve(null);
      if (taken < limit) return Promise.resolve(occupy());
      return new Promise((resolve) => {
        const entry = {
          limit,
          onMoved,
          go() {
            signal.removeEventListener('abort', giveUp);
            resolve(occupy());
          },
        };
        function giveUp(): void {
          const at = waiting.indexOf(entry);
          if (at !== -1) waiting.splice(at, 1);
          resolve(null);
        }
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.push(entry);
      });
    },
  };
}
