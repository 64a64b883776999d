/** Lets the work of one user be done one after the other; that of several users goes on together. */
export interface Turns {
  take<T>(userId: string, work: () => Promise<T>): Promise<T>;
}

/** Creates turns of this process. */
export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
    async take(userId, work) {
      const before = last.get(userId) ?? Promise.resolve();
      const mine = before.then(work, work);
      last.set(userId, mine);
      try {
        return await mine;
      } finally {
        if (last.get(userId) === mine) last.delete(userId);
      }
    },
  };
}
