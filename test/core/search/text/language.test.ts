import { describe, expect, it } from 'vitest';
import { isEnglish } from '../../../../core/search/text/language.ts';
import { readLanguageHints } from '../../../../core/search/text/tokenise.ts';
import { readWords } from '../../../../core/search/text/words.ts';

function reads(text: string, surrounding?: string): boolean {
  const hints = (part: string) => readLanguageHints(readWords(part), part);
  return isEnglish(hints(text), surrounding === undefined ? undefined : hints(surrounding));
}

describe('isEnglish', () => {
  it.each([
    'The team decided to use Postgres for the new service.',
    'Ann lives in Berlin and works with Zoë.',
    'prefers green tea',
    'Meeting with José at the café on Friday',
    '- name: Los Angeles office',
    '',
  ])('takes %j for English', (text) => {
    expect(reads(text)).toBe(true);
  });

  it.each([
    'Die Kinder spielen im Garten, und der Hund ist nicht da.',
    'Elle habite à Paris et travaille dans une école.',
    'A mi hermana le gusta el té verde.',
    'Il gatto non mangia, ma beve molto.',
    'Ik woon in Utrecht en werk voor een bank.',
    'Jag bor i Stockholm och jobbar inte på fredagar.',
    'Ona nie lubi kawy, ale bardzo lubi herbatę.',
    'Eu não gosto de café, mas gosto de chá.',
    'Bu kitap çok güzel ve ucuz.',
    'Müller trägt häufig Grün',
  ])('takes %j for another language', (text) => {
    expect(reads(text)).toBe(false);
  });

  it('decides for words that say nothing by what surrounds them', () => {
    expect(reads('grüner Tee', 'Sie mag Tee, aber sie trinkt auch Kaffee und Saft.')).toBe(false);
    expect(reads('grüner Tee', 'She likes the tea that they have in the shop.')).toBe(true);
  });
});
