/** Who may ask an embedder now, and how much at once: many servers answer one request at a time. */
export interface EmbedderTurns {
  /** Runs the call of a question. While it runs, no further batch of passages starts. */
  ask<T>(call: () => Promise<T>): Promise<T>;
  /**
   * Resolves when no question is being asked, or `signal` fires. It waits at most a third of a
   * question's time, or twice as long as the last batch took: passages are embedded even if questions
   * never end.
   */
  untilQuiet(signal: AbortSignal | undefined): Promise<void>;
  /** Takes the time of a batch into account, or the time after which it was given up. */
  measure(texts: readonly string[], tookMs: number): void;
  /** How many of these texts, from the first one, a batch may have; at least one. */
  countFitting(texts: Iterable<string>): number;
}

/**
 * The part of a question's time that the texts of a batch may take, beside what each request takes. The rest
 * is for the question itself.
 */
const SHARE = 1 / 3;
/** What a short text costs, in characters: each text has a cost of its own. */
const TEXT_CHARS = 200;
/** Two batches tell what a request takes without texts if one has so many times the characters of the other. */
const DIFFERENCE = 1.5;
/** Times that differ by less than this part of the longer one are the same. */
const NOISE = 0.2;
/** Batches over budget after which a request's own time is measured anew. */
const BELIEVED = 16;

/**
 * Puts questions before passages, and sizes batches of passages by what earlier ones took, so that a
 * question that comes while a batch is embedded is still answered within `questionMs`.
 *
 * A batch takes as long as its request does without any text, and then a time for each character. A
 * smaller batch saves only the second, so only that is kept within the share. The two are told apart by
 * batches of different sizes: while they are not, a batch over budget makes the next one smaller. A
 * slower answer counts at once; a faster one can at most double the next batch.
 */
export function createEmbedderTurns({ questionMs }: { questionMs: number }): EmbedderTurns {
  const budgetMs = questionMs * SHARE;
  const waiting = new Set<() => void>();
  let asked = 0;
  /** What a request takes without any text; `null` if that is not known. */
  let requestMs: number | null = null;
  /** Batches over budget since that was measured. */
  let believed = 0;
  /** Milliseconds for a character; 0 before the first answer. */
  let msPerChar = 0;
  let last: Batch | null = null;

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
      const lastMs = Math.min(questionMs, last?.tookMs ?? questionMs);
      const timer = setTimeout(go, Math.max(budgetMs, 2 * lastMs));
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
      const batch = { chars: Math.max(1, sumUp(texts.map(costOf))), tookMs };
      const isOver = tookMs > budgetMs;
      if (isOver) believed += 1;
      if (last !== null && isOtherSize(batch, last)) {
        requestMs = compareBatches(batch, last);
        believed = 0;
      } else if (believed >= BELIEVED) requestMs = null;
      if (requestMs !== null) requestMs = Math.min(requestMs, tookMs);
      const textMs = tookMs - (requestMs ?? (isOver ? 0 : tookMs));
      msPerChar = Math.max(textMs / batch.chars, msPerChar / 2);
      last = batch;
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

interface Batch {
  chars: number;
  tookMs: number;
}

function isOtherSize({ chars }: Batch, other: Batch): boolean {
  return Math.max(chars, other.chars) >= DIFFERENCE * Math.min(chars, other.chars);
}

/** What a request takes without any text; `null` if the smaller batch took longer, so that one was delayed. */
function compareBatches(batch: Batch, other: Batch): number | null {
  const [small, large] = batch.chars < other.chars ? [batch, other] : [other, batch];
  const moreMs = large.tookMs - small.tookMs;
  if (Math.abs(moreMs) < NOISE * Math.max(large.tookMs, small.tookMs)) return small.tookMs;
  if (moreMs < 0) return null;
  return Math.max(0, small.tookMs - (moreMs / (large.chars - small.chars)) * small.chars);
}

function sumUp(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function costOf(text: string): number {
  return text.length + TEXT_CHARS;
}
