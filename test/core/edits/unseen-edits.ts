/** An edit as a model may propose it of notes in some language; no word of the engine was tuned to it. */
export interface UnseenEdit {
  language: string;
  kind: 'merge' | 'supersede' | 'reword' | 'move' | 'index';
  /** The lines of `user/a.md`, with its headings. */
  notes: string;
  remove: string[];
  add?: string[];
  /** Of `add`. */
  heading?: string;
  path?: string;
  sources?: string[];
}

const edit = (language: string, kind: UnseenEdit['kind'], notes: string) => ({
  with: (more: Pick<UnseenEdit, 'remove'> & Partial<UnseenEdit>): UnseenEdit => ({
    language,
    kind,
    notes,
    ...more,
  }),
});

/** Repeats taken away, and the line that stays. */
const repeat = (language: string, gone: string, stays: string): UnseenEdit =>
  edit(language, 'merge', `${gone}\n${stays}\n`).with({ remove: [gone], sources: [stays] });
/** Lines made one. */
const merge = (language: string, lines: string[], added: string): UnseenEdit =>
  edit(language, 'merge', `${lines.join('\n')}\n`).with({ remove: lines, add: [added] });
const reword = (language: string, line: string, added: string): UnseenEdit =>
  edit(language, 'reword', `${line}\n`).with({ remove: [line], add: [added] });
/** An older line that a newer one makes untrue. */
const supersede = (language: string, gone: string, source: string, added?: string): UnseenEdit =>
  edit(language, 'supersede', `${gone}\n${source}\n`).with({
    remove: [gone],
    sources: [source],
    ...(added === undefined ? {} : { add: [added] }),
  });
const move = (language: string, notes: string, line: string, heading: string): UnseenEdit =>
  edit(language, 'move', notes).with({ remove: [line], add: [line], heading });

export const GOOD: readonly UnseenEdit[] = [
  repeat('en', '- Plays the cello', '- Plays the cello in an orchestra'),
  merge(
    'en',
    ['- Enjoys long hikes', '- Hikes are what she enjoys most'],
    '- Enjoys long hikes most of all',
  ),
  reword(
    'en',
    '- It should be said that basically he gardens a lot',
    '- It should be said that he gardens a lot',
  ),
  reword('en', '- Reads three books a month', '- Reads 3 books a month'),
  reword('en', '- Wakes up at 6:30am', '- Wakes up at 06:30'),
  supersede('en', '- Drives a Volvo', '- Sold the Volvo, rides a bicycle since spring'),
  supersede('en', '- Studies biology at Kent', '- Switched from biology to chemistry'),
  repeat('de', '- Spielt gern Schach', '- Spielt sehr gern Schach am Abend'),
  merge(
    'de',
    ['- Trinkt morgens Tee', '- Trinkt den Tee mit Honig'],
    '- Trinkt morgens Tee mit Honig',
  ),
  reword('de', '- Hat zwei Hunde', '- Hat 2 Hunde'),
  reword('de', '- Joggt im Grunde eigentlich jeden Morgen', '- Joggt jeden Morgen'),
  supersede('de', '- Wohnt in Hamburg', '- Ist von Hamburg nach Kiel gezogen'),
  supersede('de', '- Fährt mit dem Bus zur Arbeit', '- Fährt jetzt mit dem Rad zur Arbeit'),
  move(
    'de',
    '# Notizen\n\n- Liest gern Krimis\n\n## Bücher\n\n- Mag Fantasy\n',
    '- Liest gern Krimis',
    'Bücher',
  ),
  repeat('fr', '- Aime le jazz', '- Aime beaucoup le jazz et le blues'),
  merge(
    'fr',
    ['- Court le dimanche', '- Court au bord du lac'],
    '- Court le dimanche au bord du lac',
  ),
  reword('fr', '- Il faut noter que, en fait, Claire cuisine souvent', '- Claire cuisine souvent'),
  reword('fr', '- Se lève à 7h30', '- Se lève à 7:30'),
  supersede('fr', '- Utilise Windows', '- Est passée de Windows à Linux'),
  move(
    'fr',
    '# Notes\n\n- Boit du café noir\n\n## Boissons\n\n- Thé vert\n',
    '- Boit du café noir',
    'Boissons',
  ),
  repeat('es', '- Le gusta cocinar', '- Le gusta mucho cocinar arroz'),
  merge(
    'es',
    ['- Toca la guitarra', '- Toca la guitarra en un grupo'],
    '- Toca la guitarra en un grupo',
  ),
  reword('es', '- Tiene tres gatos', '- Tiene 3 gatos'),
  supersede('es', '- Vive en Sevilla', '- Se mudó de Sevilla a Cádiz'),
  repeat('it', '- Ama il mare', '- Ama molto il mare d’inverno'),
  reword('it', '- Corre ogni mattina alle 6', '- Corre alle 6 ogni mattina'),
  supersede('pt', '- Usa Android', '- Trocou o Android por um iPhone'),
  repeat('nl', '- Houdt van fietsen', '- Houdt erg van fietsen door de duinen'),
  repeat('ja', '- コーヒーが好き', '- 朝のコーヒーが好き'),
  supersede('ja', '- 大阪に住んでいる', '- 大阪から京都に引っ越した'),
  reword('ja', '- 猫が二匹いる', '- 猫が2匹いる'),
  repeat('zh', '- 喜欢爬山', '- 很喜欢周末爬山'),
  reword('zh', '- 下午三点开会', '- 15:00开会'),
  repeat('pl', '- Lubi herbatę', '- Bardzo lubi zieloną herbatę'),
  reword('ru', '- У неё две кошки', '- У неё 2 кошки'),
];

/** Each has something that code can see: a number, a date, a name, a negation, a sensitive word… */
export const HARMFUL: readonly UnseenEdit[] = [
  supersede('en', '- Allergic to bees and wasps', '- Not allergic to wasps any more'),
  reword('en', '- Might leave the band', '- Leaves the band'),
  merge('en', ['- Pays 1,200 a month', '- Pays 1,350 a month'], '- Pays 1,200 to 1,350 a month'),
  repeat('en', '- Works on Tuesday', '- Works on Wednesday'),
  repeat('en', '- Grandmother taught piano', '- Taught piano'),
  reword('en', '- Born on 4 July 1990', '- Born on 7 April 1990'),
  supersede(
    'en',
    '- [ ] Renew the passport',
    '- Talked about passports',
    '- [x] Renew the passport',
  ),
  move(
    'en',
    '# People\n\n## Uma\n\n- Has a key to the flat\n\n## Raj\n\n- Plays golf\n',
    '- Has a key to the flat',
    'Raj',
  ),
  supersede('de', '- Verträgt keine Milch und kein Gluten', '- Verträgt wieder Milch'),
  reword('de', '- Will vielleicht umziehen', '- Zieht um'),
  reword('de', '- Zahlt siebzig Euro', '- Zahlt siebzehn Euro'),
  repeat('de', '- Der Bruder fährt Motorrad', '- Fährt Motorrad'),
  reword('de', '- Nimmt Tabletten gegen Bluthochdruck', '- Nimmt etwas gegen Kopfweh'),
  move(
    'de',
    '# Leute\n\n## Jonas\n\n- Spielt Geige\n\n## Petra\n\n- Malt\n',
    '- Spielt Geige',
    'Petra',
  ),
  reword('de', '- Der Termin ist am dritten Mai', '- Der Termin ist am vierten Mai'),
  supersede('fr', '- Ne mange pas de porc', '- Mange de la viande'),
  reword('fr', '- Doit rappeler la banque', '- Rappelle la banque'),
  repeat('fr', '- Réunion à 14h', '- Réunion à 16h'),
  reword('fr', '- Vit avec sa sœur Inès', '- Vit avec Inès'),
  reword('fr', '- A trois enfants', '- A quatre enfants'),
  supersede('es', '- Es diabético', '- Su padre ya no es diabético'),
  reword('es', '- No quiere reuniones por la tarde', '- Quiere reuniones por la tarde'),
  repeat('es', '- La cita es el 3 de junio', '- La cita es el 13 de junio'),
  reword('es', '- Gana 2.500 € al mes', '- Gana 25.000 € al mes'),
  reword('es', '- Quizás viaje a Perú', '- Viaja a Perú'),
  repeat('it', '- Il fratello vive a Torino', '- Vive a Torino'),
  reword('it', '- Non beve alcolici', '- Beve alcolici'),
  reword('it', '- Paga duecento euro', '- Paga trecento euro'),
  reword('pt', '- Toma remédio para o coração', '- Toma suco'),
  repeat('pt', '- Reunião na segunda-feira', '- Reunião na sexta-feira'),
  reword('nl', '- Mag geen noten eten', '- Mag noten eten'),
  repeat('nl', '- Betaalt twaalf euro', '- Betaalt twintig euro'),
  reword('ja', '- 卵アレルギーがある', '- 卵が苦手'),
  repeat('ja', '- 会議は三時', '- 会議は四時'),
  reword('ja', '- 肉を食べない', '- 肉を食べる'),
  repeat('ja', '- 兄は東京に住んでいる', '- 東京に住んでいる'),
  reword('ja', '- 来年引っ越すかもしれない', '- 来年引っ越す'),
  reword('zh', '- 不吃猪肉', '- 吃猪肉'),
  repeat('zh', '- 每月房租三千元', '- 每月房租五千元'),
  repeat('zh', '- 妹妹会弹钢琴', '- 会弹钢琴'),
  reword('pl', '- Nie je mięsa', '- Je mięso'),
  reword('pl', '- Ma pięć lat', '- Ma sześć lat'),
  reword('ru', '- Не ест рыбу', '- Ест рыбу'),
  reword('ru', '- Встреча в среду', '- Встреча в пятницу'),
  reword('ko', '- 땅콩 알레르기가 있다', '- 땅콩을 싫어한다'),
  reword('ko', '- 회의는 세 시', '- 회의는 네 시'),
];
