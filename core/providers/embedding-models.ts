/** What is known of a family of embedding models, from the cards of its models. */
export interface EmbeddingModelFamily {
  /** As people call it: `e5`. */
  family: string;
  /** The length of a vector; `null` where the sizes of the family can't be told by the name. */
  dimensions: number | null;
  /** The most tokens of a text that the model reads. */
  maxTokens: number;
  /** What the model was trained to read before a question and before a passage. */
  questionPrefix: string;
  passagePrefix: string;
}

/** What most models read of a text at least, as those that come from BERT. */
export const USUAL_MAX_TOKENS = 512;

const BGE_QUESTION = 'Represent this sentence for searching relevant passages: ';

type Row = [pattern: RegExp, family: string, dimensions: number | null, more?: Partial<Known>];
type Known = Pick<EmbeddingModelFamily, 'maxTokens' | 'questionPrefix' | 'passagePrefix'>;

const E5 = { questionPrefix: 'query: ', passagePrefix: 'passage: ' };
const NOMIC = { questionPrefix: 'search_query: ', passagePrefix: 'search_document: ' };
const BGE = { questionPrefix: BGE_QUESTION };
const OPENAI = { maxTokens: 8_191 };

/** The first that fits the name counts. A name may have an owner before it and a tag behind it. */
const FAMILIES: readonly Row[] = [
  [/text-embedding-3-small/, 'OpenAI', 1_536, OPENAI],
  [/text-embedding-3-large/, 'OpenAI', 3_072, OPENAI],
  [/text-embedding-ada-002/, 'OpenAI', 1_536, OPENAI],
  // The variants that take an instruction want other prefixes.
  [/e5-small(?!.*instruct)/, 'e5', 384, E5],
  [/e5-base(?!.*instruct)/, 'e5', 768, E5],
  [/e5-large(?!.*instruct)/, 'e5', 1_024, E5],
  [/bge-m3/, 'bge-m3', 1_024, { maxTokens: 8_192 }],
  [/bge-small-en/, 'bge', 384, BGE],
  [/bge-base-en/, 'bge', 768, BGE],
  [/bge-large(?!-zh)/, 'bge', 1_024, BGE],
  [/nomic-embed-text-v2/, 'nomic', 768, NOMIC],
  // Ollama gives it 2,048 of its 8,192.
  [/nomic-embed-text/, 'nomic', 768, { ...NOMIC, maxTokens: 2_048 }],
  [/all-minilm/, 'all-MiniLM', 384, { maxTokens: 256 }],
];

/** The family of an embedding model by the model's name; `null` where it is not known. */
export function findEmbeddingModel(name: string): EmbeddingModelFamily | null {
  const found = FAMILIES.find(([pattern]) => pattern.test(name.toLowerCase()));
  if (found === undefined) return null;
  const [, family, dimensions, more = {}] = found;
  const usual = { maxTokens: USUAL_MAX_TOKENS, questionPrefix: '', passagePrefix: '' };
  return { family, dimensions, ...usual, ...more };
}
