import { describe, expect, it } from 'vitest';
import { stem } from '../../../../core/search/text/stem.ts';

/** The examples of Porter's paper (1980), step by step, carried through to the end. */
const PAPER = `
  caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre,
  plastered plaster, bled bled, motoring motor, sing sing, conflated conflat, troubled troubl,
  sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail,
  filing file, happy happi, sky sky, relational relat, conditional condit, rational ration,
  valenci valenc, hesitanci hesit, digitizer digit, conformabli conform, radicalli radic,
  differentli differ, vileli vile, analogousli analog, vietnamization vietnam, predication predic,
  operator oper, feudalism feudal, decisiveness decis, hopefulness hope, callousness callous,
  formaliti formal, sensitiviti sensit, sensibiliti sensibl, triplicate triplic, formative form,
  formalize formal, electriciti electr, electrical electr, hopeful hope, goodness good,
  revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop,
  adjustable adjust, defensible defens, irritant irrit, replacement replac, adjustment adjust,
  dependent depend, adoption adopt, homologou homolog, communism commun, activate activ,
  angulariti angular, homologous homolog, effective effect, bowdlerize bowdler, probate probat,
  rate rate, cease ceas, controll control, roll roll, generalizations gener, oscillators oscil`;

/** Words of the vocabulary that is published with the algorithm, where it is easily got wrong. */
const VOCABULARY = `
  abilities abil, yearly yearli, dying dy, saying sai, sayings sai, being be, toy toi, news new,
  possibly possibl, humbly humbl, wing wing, playing plai, agreement agreement, skies ski,
  onion onion, decision decis, abatements abat, yes ye, apology apolog, controlling control, travelled travel`;

function toPairs(list: string): [word: string, stem: string][] {
  return list.split(',').map((pair) => {
    const [word = '', expected = ''] = pair.trim().split(/\s+/);
    return [word, expected];
  });
}

describe('stem', () => {
  it.each(toPairs(PAPER))('stems %s to %s, as the paper does', (word, expected) => {
    expect(stem(word)).toBe(expected);
  });

  it.each(toPairs(VOCABULARY))('stems %s to %s, as the vocabulary does', (word, expected) => {
    expect(stem(word)).toBe(expected);
  });

  it('leaves words of one or two letters, and all that is not a–z, as they are', () => {
    for (const word of ['a', 'is', 'élan', 'кошки', '2023s', 'multi-agents', '']) {
      expect(stem(word)).toBe(word);
    }
  });
});
