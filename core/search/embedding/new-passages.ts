import type { ScopeVectors } from '../../contracts/vectors.ts';
import { splitPassages } from '../text/passages.ts';
import { hashText, toEmbeddedText } from './embedded-text.ts';
import type { Embedding } from './embedding.ts';

/** Passages that are embedded at most: a change has few. */
const MOST = 32;
const LIMIT_MS = 10_000;

/** Embeds the passages that a text has and an earlier one had not; none where the embedder fails. */
export async function embedNewPassages(
  embedding: Pick<Embedding, 'embedPassages'> | null,
  { before, after }: { before: string; after: string },
): Promise<ScopeVectors['vectors']> {
  if (embedding === null) return [];
  const hashesOf = (content: string) =>
    splitPassages(content).map((passage) => ({
      passage: { content, passage },
      textHash: hashText(toEmbeddedText(content, passage)),
    }));
  const old = new Set(hashesOf(before).map(({ textHash }) => textHash));
  const added = hashesOf(after)
    .filter(({ textHash }) => !old.has(textHash))
    .slice(0, MOST);
  if (added.length === 0) return [];
  const passages = added.map(({ passage }) => passage);
  try {
    const { vectors } = await embedding.embedPassages(passages, { limitMs: LIMIT_MS });
    return added.flatMap(({ textHash }, at) => {
      const vector = vectors[at];
      return vector === undefined ? [] : [{ textHash, vector }];
    });
  } catch {
    // A find then goes by words, too.
    return [];
  }
}
