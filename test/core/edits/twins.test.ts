import { describe, expect, it } from 'vitest';
import { decide } from '../../../core/edits/engine.ts';
import { edit, examineAll, memoryOf } from '../../support/edit-memory.ts';

/** Notes, what an operation takes away, and what stays or comes. No sentence here is in another set. */
interface Twin {
  kind: 'merge' | 'supersede' | 'reword';
  gone: string;
  source?: string;
  added?: string;
}

const A = 'user/a.md';

/** What becomes of an operation whose verifier passes everything and quotes nothing. */
function outcomeOf({ kind, gone, source, added }: Twin) {
  const notes = [gone, ...(source === undefined ? [] : [source])].map((line) => `- ${line}`);
  const times = { [A]: notes.map((_line, at) => Date.UTC(2026, 0, 1 + at)) };
  const memory = memoryOf({ [A]: `${notes.join('\n')}\n` }, { times });
  const operation = edit(kind, {
    remove: ['a1'],
    add: added === undefined ? null : { path: A, lines: [`- ${added}`] },
    sources: source === undefined ? [] : ['a2'],
  });
  const [examined] = examineAll(memory, [operation]);
  if (examined === undefined) throw new Error('The operation is not of the form asked for.');
  const passing = kind === 'supersede' ? 'replaces' : 'keeps';
  const isUnproven = examined.values.length > 0;
  const { status } = decide(examined, { verdict: isUnproven ? 'unsure' : passing, mode: 'auto' });
  return { status, why: examined.signals.join(', ') };
}

const reword = (gone: string, added: string): Twin => ({ kind: 'reword', gone, added });
const repeat = (gone: string, source: string): Twin => ({ kind: 'merge', gone, source });
const supersede = (gone: string, source: string): Twin => ({ kind: 'supersede', gone, source });

/** A condition, a negation, a number, a part of the day and a thing of a list that are lost, and a plan as a fact. */
const HARMFUL: Readonly<Record<string, readonly Twin[]>> = {
  en: [
    reword('Lends the van only if it comes back clean', 'Lends the van'),
    reword('Never answers calls at lunch', 'Answers calls at lunch'),
    reword('The shed is 14 metres long', 'The shed is 41 metres long'),
    reword('Waters the plants in the morning', 'Waters the plants in the evening'),
    repeat('Collects stamps and coins', 'Collects stamps'),
    supersede('Drives a Skoda', 'Plans to buy a Volvo'),
    repeat('Sells honey', 'Makes honey'),
  ],
  es: [
    reword('Presta la furgoneta solo si vuelve limpia', 'Presta la furgoneta'),
    reword('Nunca responde llamadas en el almuerzo', 'Responde llamadas en el almuerzo'),
    reword('El cobertizo mide 14 metros', 'El cobertizo mide 41 metros'),
    repeat('Colecciona sellos y monedas', 'Colecciona sellos'),
    supersede('Conduce un Skoda', 'Planea comprar un Volvo'),
    repeat('Vende miel', 'Produce miel'),
  ],
  fr: [
    reword('Prête la camionnette seulement si elle revient propre', 'Prête la camionnette'),
    reword('Ne répond jamais aux appels à midi', 'Répond aux appels à midi'),
    reword('La cabane mesure 14 mètres', 'La cabane mesure 41 mètres'),
    repeat('Collectionne les timbres et les pièces', 'Collectionne les timbres'),
    supersede('Conduit une Skoda', "Envisage d'acheter une Volvo"),
    repeat('Vend du miel', 'Produit du miel'),
  ],
  it: [
    reword('Presta il furgone solo se torna pulito', 'Presta il furgone'),
    reword('Non risponde mai alle chiamate a pranzo', 'Risponde alle chiamate a pranzo'),
    reword('La rimessa misura 14 metri', 'La rimessa misura 41 metri'),
    repeat('Colleziona francobolli e monete', 'Colleziona francobolli'),
    repeat('Vende miele', 'Produce miele'),
  ],
  pt: [
    reword('Empresta a carrinha só se voltar limpa', 'Empresta a carrinha'),
    reword('Nunca atende chamadas ao almoço', 'Atende chamadas ao almoço'),
    reword('O barracão mede 14 metros', 'O barracão mede 41 metros'),
    repeat('Coleciona selos e moedas', 'Coleciona selos'),
  ],
  pl: [
    reword('Pożycza furgonetkę, jeśli wróci czysta', 'Pożycza furgonetkę'),
    reword('Nigdy nie odbiera telefonów w pracy', 'Odbiera telefony w pracy'),
    reword('Szopa ma 14 metrów', 'Szopa ma 41 metrów'),
    repeat('Zbiera znaczki i monety', 'Zbiera znaczki'),
  ],
  tr: [
    reword('Kulübe 14 metre uzunluğunda', 'Kulübe 41 metre uzunluğunda'),
    repeat('Pul ve para biriktiriyor', 'Pul biriktiriyor'),
    reword(
      'Öğle arasında telefona cevap vermek istemiyor değil',
      'Öğle arasında telefona cevap veriyor',
    ),
  ],
  ja: [
    reword('昼休みには電話に出ない', '昼休みには電話に出る'),
    reword('物置の長さは14メートル', '物置の長さは41メートル'),
    reword('きれいに返すならばバンを貸す。もし汚れていたら貸さない', 'バンを貸す'),
  ],
  zh: [
    reword('午休时不接电话', '午休时接电话'),
    reword('棚子长14米', '棚子长41米'),
    reword('如果还回来时是干净的，就借出面包车', '借出面包车'),
  ],
  ko: [
    reword('점심시간에는 전화를 받지 않는다', '점심시간에는 전화를 받는다'),
    reword('창고 길이는 14미터', '창고 길이는 41미터'),
  ],
  ar: [
    reword('لا يرد على المكالمات وقت الغداء', 'يرد على المكالمات وقت الغداء'),
    reword('طول المخزن 14 مترا', 'طول المخزن 41 مترا'),
  ],
};

const GOOD: Readonly<Record<string, readonly Twin[]>> = {
  en: [
    reword('Basically spends every weekend in the garden', 'Spends every weekend in the garden'),
    repeat('Collects stamps', 'Collects stamps and coins'),
    supersede('Drives a Skoda', 'Sold the Skoda and drives a Volvo now'),
    supersede('Wants to build a greenhouse', 'Built the greenhouse in the garden'),
  ],
  es: [
    reword('La verdad es que pasa cada domingo en el huerto', 'Pasa cada domingo en el huerto'),
    repeat('Colecciona sellos', 'Colecciona sellos y monedas'),
    supersede('Conduce un Skoda', 'Vendió el Skoda y ahora conduce un Volvo'),
  ],
  fr: [
    reword('En fait passe chaque dimanche au jardin', 'Passe chaque dimanche au jardin'),
    repeat('Collectionne les timbres', 'Collectionne les timbres et les pièces'),
    supersede('Conduit une Skoda', 'A vendu la Skoda et conduit maintenant une Volvo'),
  ],
  it: [
    reword('In pratica passa ogni domenica in giardino', 'Passa ogni domenica in giardino'),
    repeat('Colleziona francobolli', 'Colleziona francobolli e monete'),
  ],
  pt: [
    reword('Na verdade passa todos os domingos na horta', 'Passa todos os domingos na horta'),
    repeat('Coleciona selos', 'Coleciona selos e moedas'),
  ],
  pl: [
    reword('W zasadzie każdą niedzielę spędza w ogrodzie', 'Każdą niedzielę spędza w ogrodzie'),
    repeat('Zbiera znaczki', 'Zbiera znaczki i monety'),
  ],
  tr: [
    reword('Aslında her pazarı bahçede geçiriyor', 'Her pazarı bahçede geçiriyor'),
    repeat('Pul biriktiriyor', 'Pul ve para biriktiriyor'),
  ],
  ja: [
    repeat('切手を集めている', '切手と硬貨を集めている'),
    reword('基本的に毎週日曜日は庭で過ごす', '毎週日曜日は庭で過ごす'),
  ],
  zh: [
    repeat('收集邮票', '收集邮票和硬币'),
    reword('基本上每个星期天都在花园里', '每个星期天都在花园里'),
  ],
  ko: [
    repeat('우표를 모은다', '우표와 동전을 모은다'),
    reword('사실 일요일마다 정원에서 시간을 보낸다', '일요일마다 정원에서 시간을 보낸다'),
  ],
  ar: [
    repeat('يجمع الطوابع', 'يجمع الطوابع والعملات'),
    reword('في الواقع يقضي كل يوم أحد في الحديقة', 'يقضي كل يوم أحد في الحديقة'),
  ],
};

const listOf = (all: Readonly<Record<string, readonly Twin[]>>) =>
  Object.entries(all).flatMap(([language, twins]) =>
    twins.map(
      (twin) => [`${language}: ${twin.gone} → ${twin.added ?? twin.source}`, twin] as const,
    ),
  );

describe('a verifier that passes everything and quotes nothing', () => {
  it('has at most one of twenty twins of harmful operations applied', () => {
    const all = listOf(HARMFUL);
    const applied = all.filter(([, twin]) => outcomeOf(twin).status === 'applied');
    expect(applied.map(([name]) => name).slice(Math.floor(all.length / 20))).toEqual([]);
  });

  it('drops no good one, and applies at least four of five', () => {
    const all = listOf(GOOD).map(([name, twin]) => ({ name, ...outcomeOf(twin) }));
    expect(all.filter(({ status }) => status === 'dropped' || status === 'stale')).toEqual([]);
    const waiting = all.filter(({ status }) => status === 'waiting');
    expect(waiting.slice(Math.floor(all.length / 5))).toEqual([]);
  });
});
