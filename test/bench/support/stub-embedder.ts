/** Dimensions of the vectors: those of a small sentence model. */
export const DIMENSIONS = 384;

/** In place of a model: a vector that texts with the same words share parts of, at no cost. */
export function embed(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().split(/\W+/)) {
    let hash = 2_166_136_261;
    for (let index = 0; index < word.length; index += 1) {
      hash = Math.imul(hash ^ word.charCodeAt(index), 16_777_619);
    }
    const at = (hash >>> 0) % DIMENSIONS;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** The same in the form of LangChain's embeddings, which several libraries take. */
export const embeddings = {
  embedQuery: (text: string) => Promise.resolve(embed(text)),
  embedDocuments: (texts: string[]) => Promise.resolve(texts.map(embed)),
};
