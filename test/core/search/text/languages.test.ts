import { describe, expect, it } from 'vitest';
import { searchTexts } from '../rank/full-scan.ts';

/** Memories of eleven people, each in another language, all searched together. */
const MEMORIES = {
  'ja.md': `# 佐藤さん

- 好きな食べ物は寿司とラーメン。
- 猫を二匹飼っている。名前はタマとミケ。
- アレルギー：卵、そば
- 東京都渋谷区のAI企業でエンジニアとして働いている。
- 2026年5月に京都へ行った。
`,
  'zh.md': `# 王小明

- 喜欢喝乌龙茶，不喜欢咖啡。
- 对花生过敏。
- 在上海一家银行做数据分析师，用Python和SQL。
- 养了一只狗，叫旺财。
`,
  'ko.md': `# 김민수

- 매운 음식을 좋아하지만 우유는 못 마신다.
- 서울에서 고양이 두 마리와 산다.
- 물을 하루에 2리터 마신다.
- 집은 강남역 근처.
`,
  'th.md': '- ชอบกินต้มยำกุ้ง\n- ทำงานที่กรุงเทพ\n- มีแมวสองตัว\n',
  'de.md': `# Jürgen

- Jürgen trinkt morgens Kaffee und am Abend Kräutertee.
- Die Krankenversicherungskarte liegt in der Schublade.
- Die Größe der Wohnung ist 80 m².
- Seine Frau mag keine Erdnüsse, weil sie allergisch ist.
`,
  'fr.md': `# Camille

- Elle habite à Lyon et travaille à l’hôpital.
- Son frère s’appelle Étienne.
- L’école des enfants commence à 8h30.
`,
  'es.md': '# María\n\n- Le gusta el té verde.\n- ¿Cumpleaños? El 3 de mayo.\n',
  'ru.md': `# Иван

- Иван живёт в Санкт-Петербурге и любит крепкий чай.
- Ёлку купили в декабре.
- Работает программистом в банке.
`,
  'ar.md': '# أحمد\n\n- يعيش أحمد في القاهرة.\n- يُحِبّ القهوة العربية.\n- ابنته اسمها مريم.\n',
  'tr.md': '# İpek\n\n- İpek İstanbul’da yaşıyor ve çay içiyor.\n- Işık adında bir kedisi var.\n',
  'en.md': '# Ann\n\n- Met Zoë at the Café Noir in 東京 (Tokyo).\n- Runs the multi-agent demo.\n',
};

const DOCUMENTS = Object.entries(MEMORIES).map(([path, text]) => ({ scope: 0, path, text }));

describe('a question in the words of its language', () => {
  it.each([
    // Words of one and two characters, and whole questions.
    ['猫', 'ja.md', 4],
    ['猫の名前は？', 'ja.md', 4],
    ['卵アレルギー', 'ja.md', 5],
    ['佐藤さんは何が好きですか', 'ja.md', 3],
    ['京都にいつ行きましたか', 'ja.md', 7],
    ['他对什么过敏', 'zh.md', 4],
    ['狗', 'zh.md', 6],
    ['狗叫什么名字', 'zh.md', 6],
    ['上海', 'zh.md', 5],
    ['물', 'ko.md', 5],
    ['집', 'ko.md', 6],
    ['고양이', 'ko.md', 4],
    ['우유를 마시나', 'ko.md', 3],
    ['แมว', 'th.md', 3],
    ['กรุงเทพ', 'th.md', 2],
    // Mixed with Latin.
    ['AI企業', 'ja.md', 6],
    ['ai 企業', 'ja.md', 6],
    ['Python', 'zh.md', 5],
    ['用SQL做什么', 'zh.md', 5],
    ['Tokyo 東京 café', 'en.md', 3],
    ['2리터', 'ko.md', 5],
    // With and without accents, in any case.
    ['Was trinkt Jürgen am Abend?', 'de.md', 3],
    ['KRÄUTERTEE', 'de.md', 3],
    ['krankenversicherungskarte', 'de.md', 4],
    ['Groesse oder Größe der Wohnung', 'de.md', 5],
    ['Erdnüsse', 'de.md', 6],
    ['hopital', 'fr.md', 3],
    ['l’hôpital', 'fr.md', 3],
    ['ecole', 'fr.md', 5],
    ['Comment s’appelle son frère ?', 'fr.md', 4],
    ['cumpleanos', 'es.md', 4],
    ['где живет Иван', 'ru.md', 3],
    ['ЕЛКУ', 'ru.md', 4],
    ['أين يعيش احمد', 'ar.md', 3],
    ['يحب القهوة', 'ar.md', 4],
    ['istanbul', 'tr.md', 3],
    ['ISTANBUL', 'tr.md', 3],
    ['ışık', 'tr.md', 4],
    ['zoe', 'en.md', 3],
    ['multiagent', 'en.md', 4],
  ])('finds by %j first %s, line %i', async (question, path, line) => {
    for (const group of ['file', 'passage'] as const) {
      const [found] = await searchTexts(DOCUMENTS, question, { group, limit: 3 });
      expect(found).toMatchObject({ path, startLine: line });
    }
  });

  it('takes a word of another language as it stands: no ending is taken off', async () => {
    const text =
      'Das ist nicht der Garten, und die Kinder spielen mit dem Ball.\n\nKind und Kegel.\n';
    const find = async (question: string) => {
      const options = { group: 'passage', limit: 9 } as const;
      const [first] = await searchTexts([{ scope: 0, path: 'x.md', text }], question, options);
      return first?.startLine;
    };
    expect(await find('Kinder')).toBe(1);
    expect(await find('Kind')).toBe(3);
    expect(await find('spiele')).toBeUndefined();
  });
});
