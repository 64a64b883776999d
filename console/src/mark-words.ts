/** A piece of a text, and whether it is one of the words. */
export interface MarkedPart {
  text: string;
  isMarked: boolean;
}

/** Splits a text at the words of a search, without regard to case. */
export function markWords(text: string, words: string): MarkedPart[] {
  const found = words
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (found.length === 0) return [{ text, isMarked: false }];
  // With one group, the odd pieces are the words.
  return text
    .split(new RegExp(`(${found.join('|')})`, 'giu'))
    .map((part, index) => ({ text: part, isMarked: index % 2 === 1 }))
    .filter((part) => part.text !== '');
}
