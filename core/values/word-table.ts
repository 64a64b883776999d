import { fold } from './fold.ts';

/**
 * Words with what they mean, folded. `*` stands for any ending, `s?` for an `s` that may be missing, and
 * `-` for a space. By look-up: an expression of a thousand words takes long to compile.
 */
export class WordTable<T> {
  readonly #whole = new Map<string, T[]>();
  readonly #stems = new Map<string, T[]>();
  #longestStem = 0;

  add(entries: readonly string[], value: T): void {
    for (const entry of entries.map(fold)) {
      const word = entry.replaceAll('-', ' ').replace(/s\?$/, '');
      const forms = entry.endsWith('s?') ? [word, `${word}s`] : [word];
      for (const form of forms) {
        const table = form.endsWith('*') ? this.#stems : this.#whole;
        const key = form.replace('*', '');
        if (table === this.#stems) this.#longestStem = Math.max(this.#longestStem, key.length);
        table.set(key, [...(table.get(key) ?? []), value]);
      }
    }
  }

  /** What a word means, or words with a space between them; folded. */
  get(words: string): readonly T[] {
    const found = [...(this.#whole.get(words) ?? [])];
    const most = words.includes(' ') ? 0 : Math.min(words.length, this.#longestStem);
    for (let end = 2; end <= most; end += 1) {
      found.push(...(this.#stems.get(words.slice(0, end)) ?? []));
    }
    return found;
  }
}
