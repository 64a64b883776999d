/** Lower case, and Latin letters without their accents. */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[łøđıß]/g, (letter) => PLAIN_LETTERS[letter] ?? letter);
}

/** {@link fold} with every letter in its place: one that would become two, or none, stays. */
export function foldInPlace(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text.replace(/[A-Z\u0080-\u{10ffff}]/gu, (letter) => {
    const folded = fold(letter);
    return folded.length === letter.length ? folded : letter;
  });
}

const ASCII = /^[\x20-\x7e\n\t]*$/;
const PLAIN_LETTERS: Readonly<Record<string, string>> = { ł: 'l', ø: 'o', đ: 'd', ı: 'i', ß: 'ss' };
