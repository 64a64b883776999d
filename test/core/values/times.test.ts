import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveTimes } from '../../../core/values/times.ts';

/** A Thursday. */
const TODAY = '2023-05-25';

describe('words of time in a fact', () => {
  it.each([
    ['I ran a race last Saturday.', ['2023-05-20'], ['2023-05-21', '2023-06-20']],
    ['We went there yesterday.', ['2023-05-24'], ['2023-05-23']],
    ['It broke the day before yesterday.', ['2023-05-23'], ['2023-05-24']],
    ['I got hurt last month.', ['2023-04'], ['2023-03']],
    ['They moved three years ago.', ['2020'], ['2019']],
    ['We were away last weekend.', ['2023-05-20', '2023-05-21'], ['2023-05-22']],
    ['The meeting is next week.', ['2023-05-29'], ['2023-05-18', '2023-06-12']],
    ['The election is on June 16.', ['2023-06-16'], ['2024-06-16', '2023-06-17']],
    ['She has lived there since October.', ['2022-10'], ['2021-10']],
    ['Ich bin gestern umgezogen.', ['2023-05-24'], ['2023-05-25']],
    ['Letzten Monat war ich in Wien.', ['2023-04'], ['2023-05']],
    ['Vor zwei Jahren habe ich geheiratet.', ['2021'], ['2022']],
    ['Übermorgen fliege ich.', ['2023-05-27'], ['2023-05-26']],
    ['J’ai déménagé le mois dernier.', ['2023-04'], ['2023-05']],
    ['Il est né il y a trois ans.', ['2020'], ['2021']],
    ['Nos casamos el año pasado.', ['2022'], ['2023']],
    ['Hace dos semanas empecé a correr.', ['2023-05-11'], ['2023-05-25']],
    ['Ieri ho smesso di fumare.', ['2023-05-24'], ['2023-05-25']],
    ['Mudei de emprego há dois meses.', ['2023-03'], ['2023-04']],
    ['Vorige maand verhuisde ik.', ['2023-04'], ['2023-05']],
    ['W zeszłym roku był w Krakowie.', ['2022'], ['2021']],
    ['Вчера я купил машину.', ['2023-05-24'], ['2023-05-23']],
    ['我上个月搬到了上海。', ['2023-04'], ['2023-03']],
    ['三年前他结婚了。', ['2020'], ['2021']],
    ['先週から東京にいます。', ['2023-05-18'], ['2023-05-26']],
    ['Geçen yıl taşındım.', ['2022'], ['2021']],
  ])('%j', (fact, meant, others) => {
    const dates = resolveTimes(fact, TODAY).phrases.flatMap((phrase) => phrase.dates);
    for (const date of meant) expect(dates).toContain(date);
    for (const date of others) expect(dates).not.toContain(date);
  });

  it.each([
    ['I was in Rome last summer.', ['2022-06', '2022-07', '2022-08']],
    ['Letzten Winter war ich krank.', ['2022-12', '2023-01', '2023-02']],
    ['L’été dernier, elle a appris à nager.', ['2022-06', '2022-07', '2022-08']],
    ['Se casaron el otoño pasado.', ['2022-09', '2022-10', '2022-11']],
    ['Zeszłego lata był w Gdańsku.', ['2022-06', '2022-07', '2022-08']],
    ['Прошлой зимой он жил в Твери.', ['2022-12', '2023-01', '2023-02']],
    ['去年夏天去了北海道。', ['2022-06', '2022-07', '2022-08']],
    ['They met in spring 2021.', ['2021-03', '2021-04', '2021-05']],
    ['She moves out this autumn.', ['2023-09', '2023-10', '2023-11']],
  ])('a season is its months: %j', (fact, months) => {
    const dates = resolveTimes(fact, TODAY).phrases.flatMap((phrase) => phrase.dates);
    for (const month of months) expect(dates).toContain(month);
  });

  it('are none where a fact has none', () => {
    for (const fact of [
      'I have a cat.',
      'Sie mag Tee.',
      'Il aime le thé.',
      '我喜欢茶。',
      'Born 2001-02-03.',
      'Likes summer.',
    ]) {
      expect(resolveTimes(fact, TODAY).phrases, fact).toEqual([]);
    }
  });

  it('are looked for in any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void resolveTimes(text, TODAY)));
  });
});
