/** Lets a number of runs work at once; the others wait for their turn. */
export interface Semaphore {
  /**
   * Waits for a free place. Returns `null` when `signal` aborts first. `onTurn` is called each time
   * a place becomes free meanwhile.
   */
  acquire(
    limit: number,
    options: { signal: AbortSignal; onTurn: () => void },
  ): Promise<{ release(): void } | null>;
}

/** Creates a semaphore whose limit may differ from call to call. */
export function createSemaphore(): Semaphore {
  let taken = 0;
  const waiting: { limit: number; go(): void; onTurn: () => void }[] = [];

  function free(): void {
    taken -= 1;
    for (const { onTurn } of waiting) onTurn();
    const at = waiting.findIndex(({ limit }) => taken < limit);
    if (at !== -1) waiting.splice(at, 1)[0]?.go();
  }

  function occupy(): { release(): void } {
    taken += 1;
    let isFree = false;
    return {
      release() {
        if (!isFree) free();
        isFree = true;
      },
    };
  }

  return {
    acquire(limit, { signal, onTurn }) {
      if (signal.aborted) return Promise.resolve(null);
      if (taken < limit) return Promise.resolve(occupy());
      return new Promise((resolve) => {
        const entry = {
          limit,
          onTurn,
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
