import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  groundedShare,
  hasNegation,
  isDenied,
  likeness,
  termsOf,
  missingSpecifics,
} from '../../../core/subagents/evidence.ts';

describe('grounds', () => {
  it.each([
    ['Lives in Madrid.', '- Lives in Berlin.', ['madrid']],
    ['Pays €500.', 'Pays $500.', ['€500']],
    ['Grew by 5%.', 'Grew by 5.', ['5%']],
    ['Meets at 10:30.', 'Meets at 10:00.', ['10:30']],
    ['Born in 1990.', 'Born on 1990-05-01.', []],
    ['Write to ana@example.com', 'Write to Ana at example.com', ['ana@example.com']],
    ['It is https://a.example/x.', 'It is at https://a.example/x', []],
    ['- Bob is a friend.', '- Ana is a friend.', ['bob']],
    ['- Prefers tea.', '- tea', []],
    ['They met Ana-Maria.', 'ana-maria came', []],
    ['Has 3 kids.', 'I have three kids.', []],
    ['Has 4 kids.', 'I have three kids.', ['4']],
    ['Turns 90 in May.', 'Her 90th birthday is in May.', []],
    ['Book club at 19:00 on Tuesdays.', 'Book club, every Tuesday at 7pm.', []],
    ['Book club at 7:00.', 'Book club at 7pm.', ['7:00']],
    ['- Volunteers at the youth center.', 'I carry on volunteering at the youth center.', []],
    ['- Helps Volker.', 'I carry on helping.', ['volker']],
    ['- Came back; stopped at Ana’s. Motivation: tea.', 'I was at Ana’s.', []],
    ['- Rose drinks tea. Drew, too.', 'I drink tea.', ['rose', 'drew']],
    ['On March 3rd, 2023.', 'On 2023-03-03.', []],
    ['On 2023-03-03.', 'On the 3rd of March, 2023.', []],
    ['On 2023-03-04.', 'On 3 March 2023.', ['2023-03-04']],
    ['In 2023-04.', 'In 2023-03.', ['2023-04']],
    ['At 7:30 p.m.', 'At 19:30.', []],
    ['At 19:30.', 'At 7:30 PM.', []],
    ['At 7:30 am.', 'At 19:30.', ['7:30am']],
    ['Costs $2,500.', 'Costs 2.5k dollars.', []],
    ['Costs 2500 euros.', 'Costs €2,500.', []],
    ['Costs 2500 dollars.', 'Costs €2,500.', ['$2500']],
    ['Costs $250.', 'Costs $2,500.', ['$250']],
    ['Half, 50 percent.', 'Half: 50%.', []],
  ])('tell that %j says what %j does not: %j', (text, grounds, missing) => {
    expect(missingSpecifics(text, grounds).sort()).toEqual([...missing].sort());
  });

  it('lack nothing of a text that is a part of them', () => {
    const word = fc.constantFrom('Ana', 'tea', '500', '$7', '2026-01-02', 'x@y.z', 'Ünal', '茶');
    const line = fc.array(word, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(' '));
    fc.assert(
      fc.property(line, line, (text, more) => {
        expect(missingSpecifics(text, `${more}\n${text}`)).toEqual([]);
        expect(groundedShare(text, `${more}\n${text}`)).toBe(1);
        expect(likeness(termsOf(text), termsOf(text))).toBe(1);
      }),
    );
  });

  it('count the words that say something, not those that a fact is put in', () => {
    expect(groundedShare('The user has anxiety.', 'The user prefers coffee.')).toBe(0);
    expect(groundedShare('- Prefers coffee.', 'Switched from tea to coffee.')).toBe(1);
    expect(groundedShare('---', 'anything')).toBe(0);
  });

  it.each([
    ['- Does pottery.', "I don't do pottery any more.", true],
    ['- Likes tea.', 'I do not like tea.', true],
    ['- Dislikes tea.', 'I do not like tea.', false],
    ['- No longer does pottery.', "I don't do pottery any more.", false],
    ['- Stopped doing pottery.', "I don't do pottery any more.", false],
    ['- Prefers coffee.', "I don't like tea, I prefer coffee.", false],
    ['- Loves coffee.', "I can't do without coffee.", false],
    ['- Loves tea.', "Don't forget that I love tea.", false],
    ['- Is a counselor.', "I don't work with kids any more, I'm a counselor now.", false],
    ['- A huge part of life.', 'Pottery is a huge part of my life, not just a hobby.', false],
  ])('%j of %j: the contrary %j', (line, fact, denied) => {
    expect(isDenied(line, fact)).toBe(denied);
  });

  it('see a denial in several languages', () => {
    for (const text of ['Does not eat meat.', 'Isn’t here.', 'Isst kein Fleisch.', '不吃肉。']) {
      expect(hasNegation(text), text).toBe(true);
    }
    for (const text of ['Eats meat.', 'A notable knot.', 'Isst Fleisch.']) {
      expect(hasNegation(text), text).toBe(false);
    }
  });
});
