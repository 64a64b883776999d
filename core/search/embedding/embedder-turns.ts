/** Who may ask an embedder now, and how much at once: many servers answer one request at a time. */
export interface EmbedderTurns {
  /** Runs the call of a question. While it runs, no further batch of passages starts. */
  ask<T>(call: () => Promise<T>): Promise<T>;
  /**
   * Resolves when no question is being asked, or `signal` fires. A batch waits at most twice as long as
   * a question does, so that passages are embedded even if questions never end.
   */
  untilQuiet(signal: AbortSignal | undefined): Promise<void>;
  /** Takes the time of an answer into account, or the time after which a call was given up. */
  measure(texts: readonly string[], tookMs: number): void;
  /** How many of these texts, from the first one, a batch may have; at least one. */
  countFitting(texts: Iterable<string>): number;
}

/** The part of a question's time that a batch may take. What is left is for the question itself. */
const SHARE = 1 / 3;
/** What a short text costs, in characters: a request and each of its texts have costs of their own. */
const TEXT_CHARS = 200;

/**
 * Puts questions before passages, and sizes batches of passages by what earlier answers took, so that
 * a question that comes while a batch is embedded is still answered within `questionMs`. A slower
 * answer counts at once; a faster one can at most double the next batch.
 */
export function createEmbedderTurns({ questionMs }: { questionMs: number }): EmbedderTurns {
  const budgetMs = questionMs * SHARE;
  const waiting = new Set<() => void>();
  let asked = 0;
  /** Milliseconds for a character; 0 before the first answer. */
  let msPerChar = 0;

  return {
    async ask(call) {
      asked += 1;
      try {
        return await call();
      } finally {
        asked -= 1;
        if (asked === 0) waiting.forEach((go) => go());
      }
    },
    async untilQuiet(signal) {
      if (asked === 0 || signal?.aborted === true) return;
      let go = (): void => undefined;
      const quiet = new Promise<void>((resolve) => (go = resolve));
      const timer = setTimeout(go, 2 * questionMs);
      waiting.add(go);
      signal?.addEventListener('abort', go, { once: true });
      try {
        await quiet;
      } finally {
        clearTimeout(timer);
        waiting.delete(go);
        signal?.removeEventListener('abort', go);
      }
    },
    measure(texts, tookMs) {
      const chars = texts.reduce((sum, text) => sum + costOf(text), 0);
      msPerChar = Math.max(tookMs / Math.max(chars, 1), msPerChar / 2);
    },
    countFitting(texts) {
      let count = 0;
      let ms = 0;
      for (const text of texts) {
        ms += costOf(text) * msPerChar;
        if (count > 0 && ms > budgetMs) break;
        count += 1;
      }
      return count;
    },
  };
}

function costOf(text: string): number {
  return text.length + TEXT_CHARS;
}
