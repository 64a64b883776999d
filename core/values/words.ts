import { fold } from './fold.ts';
import { readLanguages, UNKNOWN } from './language.ts';
import { WordTable } from './word-table.ts';

/**
 * Words that say how a fact is meant, in the languages that search tells apart and some that it need
 * not. Entries are folded: lower case, Latin letters without their accents; `*` stands for any ending.
 */

/** Whether a text denies something: no, not, never, without, any more… in a language that it may be in. */
export function hasNegation(text: string, around: readonly string[] = []): boolean {
  return kindsOf(text, around).has('not') || /n['’]t(?!\p{L})/iu.test(text);
}

/** The kinds of modal words in a text: must, should, may, might, want, if, plan. */
export function modalsOf(text: string, around: readonly string[] = []): Set<string> {
  const kinds = kindsOf(text, around);
  kinds.delete('not');
  kinds.delete('change');
  return kinds;
}

/** Whether a text says that something is another now: moved, changed, since, instead of… */
export function saysChange(text: string, around: readonly string[] = []): boolean {
  return kindsOf(text, around).has('change');
}

function kindsOf(text: string, around: readonly string[]): Set<string> {
  const folded = fold(text);
  const kinds = new Set(UNCASED.filter(([, words]) => words.test(folded)).map(([kind]) => kind));
  const own = readLanguages(text, around);
  // Where nothing tells the language, a word may be of any.
  for (const language of own.includes(UNKNOWN) ? MEANT.keys() : own) {
    for (const [kind, words] of MEANT.get(language) ?? []) {
      if (words.test(folded)) kinds.add(kind);
    }
  }
  return kinds;
}

/** Whether a text is about health, safety, money, law, access, religion, sexuality or politics. */
export function isSensitive(text: string): boolean {
  return SENSITIVE.test(fold(text));
}

/** The relation that a word names, as in `brother`; `null` for other words. One word for a language. */
export function relationOf(word: string): string | null {
  const folded = fold(word);
  const known = RELATIONS.get(folded);
  if (known !== undefined || !/^[\p{Script=Han}]/u.test(folded)) return known ?? null;
  // No space ends a word of these scripts.
  return RELATIONS.get(folded.slice(0, 2)) ?? RELATIONS.get(folded.slice(0, 1)) ?? null;
}

/** Whether a heading or file name says what is noted there, and names nobody: `Food`, `Inbox`. */
export function isTopic(word: string): boolean {
  return TOPICS.test(fold(word));
}

/**
 * Words by language that say how a fact is meant: `not`, a modal, or a change. A word is looked up in the languages
 * that a text may be in alone: `nu` denies in Romanian, and is "now" in Swedish.
 */
const BY_LANGUAGE: Readonly<Record<string, string>> = {
  en: 'not: not no never none nobody nothing neither nor cannot cant dont doesnt isnt wont without anymore except avoid* dislike* hate* refus* stopped quit unable nowhere hardly; must: must need* have-to has-to required mandatory; should: should ought recommend*; may: may allowed permitted; might: might maybe perhaps probably possibly could likely; want: want* wish* hope* would-like; if: if unless whether provided; plan: plan plans planned planning intend* consider* going-to thinking-of; change: now since moved changed switched raised lowered correction actually instead anymore formerly previously went-up went-down no-longer became new sold',
  de: 'not: nicht kein* nie niemals niemand nichts ohne weder vermeid*; must: muss* mussen; should: sollte* soll sollen; may: darf* durf*; might: vielleicht moglicherweise wahrscheinlich evtl eventuell konnte; want: mochte* will wunsch*; if: wenn falls sofern; plan: plant planen vorhab* geplant* beabsichtigt uberlegt; change: jetzt nun seit umgezogen geandert gewechselt erhoht gesenkt korrektur statt stattdessen fruher ehemals neu neue mehr',
  fr: 'not: ne n pas jamais sans aucun* personne rien ni; must: doit doivent devoir faut; should: devrait devraient; may: peut peuvent; might: peut-etre probablement pourrait; want: veut veulent voudrait souhait*; if: si sauf-si a-condition; plan: prevoit prevu compte-faire envisage* projette; change: maintenant desormais depuis demenag* change* passe plus correction anciennement avant nouveau nouvelle',
  es: 'not: no nunca jamas sin nadie nada tampoco ningun* ni; must: debe* tiene-que hay-que; should: deberia*; may: puede* permitido; might: quiza* tal-vez probablemente podria; want: quiere* quisiera desea espera; if: si salvo-que; plan: piensa planea* planean tiene-previsto; change: ahora desde mudado mudo cambio cambiado cambia ya antes correccion nuevo nueva',
  pt: 'not: nao nunca jamais sem ninguem nada nem nenhum*; must: deve devem tem-de tem-que precisa; should: deveria*; may: pode podem; might: talvez provavelmente poderia; want: quer querem gostaria deseja espera; if: se caso a-menos; plan: pensa planeja planeia pretende tenciona; change: agora desde mudou mudado mudaram trocou passou antes correcao ja novo nova',
  it: 'not: non mai senza nessun* niente nulla ne; must: deve devono bisogna; should: dovrebbe*; may: puo possono; might: forse probabilmente potrebbe; want: vuole vogliono vorrebbe spera; if: se purche; plan: pensa-di prevede pianifica intende progetta; change: ora adesso dal trasferit* cambiat* passat* prima correzione piu nuovo nuova',
  nl: 'not: niet geen nooit zonder niemand niets noch; must: moet moeten; should: zou-moeten; may: mag mogen; might: misschien waarschijnlijk mogelijk; want: wil willen wenst hoopt; if: als indien mits tenzij; plan: plant plannen gepland overweegt; change: nu sinds verhuisd veranderd gewijzigd voorheen vroeger correctie nieuw nieuwe meer',
  sv: 'not: inte aldrig ingen inget inga utan ej; must: maste; should: borde bor skulle; may: far; might: kanske troligen mojligen; want: vill onskar hoppas; if: om ifall; plan: planerar planer tanker; change: nu sedan flyttat flyttade andrat andrades bytt tidigare rattelse langre ny nytt',
  da: 'not: ikke aldrig ingen intet uden ej; must: skal; should: burde; may: ma; might: maske sandsynligvis; want: vil onsker haber; if: hvis; plan: planlaegger; change: nu siden flyttet aendret skiftet tidligere rettelse laengere ny',
  nb: 'not: ikke aldri ingen intet uten; must: skal; should: burde; may: kan; might: kanskje trolig; want: vil onsker haper; if: hvis; plan: planlegger; change: na siden flyttet endret byttet tidligere rettelse lenger ny',
  pl: 'not: nie nigdy bez nikt nic zaden zadn* ani; must: musi musza trzeba; should: powinn* powinien; may: moze mozna; might: chyba prawdopodobnie; want: chce chca pragnie; if: jesli jezeli gdyby pod-warunkiem; plan: planuje planuja zamierza; change: teraz od przeprowadzil* zmienil* zmiana wczesniej dawniej korekta juz nowy nowa',
  cs: 'not: ne neni nema nikdy bez nikdo nic zadn* ani; must: musi; should: mel-by; may: smi; might: mozna asi; want: chce; if: pokud jestli kdyby; plan: planuje; change: ted nyni od prestehoval* zmen* drive oprava uz novy nova',
  tr: 'not: degil yok asla hic* olmadan; must: lazim gerek* zorunda; should: meli; may: izin; might: belki galiba; want: istiyor ister; if: eger; plan: planliyor planladi dusunuyor; change: artik simdi beri tasindi degisti degistirdi onceden eskiden yeni',
  fi: 'not: ei eivat koskaan ilman en; must: taytyy pitaa; should: pitaisi; may: saa; might: ehka; want: haluaa; if: jos; plan: suunnit* aikoo; change: nyt lahtien muutti vaihtoi aiemmin uusi enaa',
  hu: 'not: nem ne nincs soha nelkul; must: kell; should: kellene; may: szabad; might: talan; want: akar szeretne; if: ha; plan: tervez*; change: most ota koltozott valtozott korabban uj mar',
  ro: 'not: nu fara niciodata nimic nici; must: trebuie; should: ar-trebui; may: poate; might: probabil; want: vrea; if: daca; plan: planuieste intentioneaza; change: acum mutat schimbat inainte nou noua',
  id: 'not: tidak bukan jangan tanpa belum; must: harus; should: sebaiknya seharusnya; may: boleh; might: mungkin; want: ingin mau; if: jika kalau; plan: berencana; change: sekarang sejak pindah berubah dulu baru lagi',
  ru: 'not: не нет никогда без никто ничего нельзя ни; must: должен должна должны нужно надо; should: следует; may: можно; might: может возможно наверное; want: хочет хотят; if: если; plan: планиру* собирается; change: теперь сеичас переехал* измени* раньше вместо новыи новая больше',
  uk: 'not: не немає ніколи без ніхто нічого; must: повинен треба; may: можна; might: може можливо; want: хоче; if: якщо; plan: плану*; change: тепер зараз переїхав переїхала змінив раніше новий',
};

type Meant = ReadonlyMap<string, readonly (readonly [kind: string, words: Matcher])[]>;

const MEANT: Meant = new Map(
  Object.entries(BY_LANGUAGE).map(([language, rows]) => [
    language,
    rows.split('; ').map((row) => {
      const [kind = '', words = ''] = row.split(': ');
      return [kind, toMatcher(words)] as const;
    }),
  ]),
);

/** Scripts without spaces, and those of one language. */
const UNCASED: readonly (readonly [kind: string, words: RegExp])[] = [
  [
    'not',
    /不(?!同)|没|沒|無|无|未|非(?!常)|别|勿|ない|ません|なし|なく[てな]|ず(?=[、。に])|않|없|아니|안\s|못|(?<!\p{L})(?:لا|ليس|ليست|لم|لن|بدون|غير|אין|לא|בלי)(?!\p{L})|नहीं|मत\s|बिना|ไม่|δεν|μην|ποτέ|χωρίς/u,
  ],
  ['must', /必须|必須|しなければ|なくては|해야|يجب|חייב|πρέπει/u],
  ['should', /应该|應該|べき|ينبغي/u],
  ['may', /可以|てもいい|يمكن|يجوز/u],
  ['might', /可能|也许|也許|かもしれ|たぶん|아마|ربما|אולי|शायद|ίσως/u],
  ['want', /想(?!象)|希望|たい(?=[。とで、]|$)|싶|يريد|تريد|רוצה|चाह|θέλει/u],
  ['if', /如果|假如|要是|もし|たら|れば|(?:으|다)?면\s|إذا|אם\s|अगर|αν\s/u],
  ['plan', /打算|计划|計劃|つもり|予定|예정|계획|يخطط|تخطط|ينوي|מתכנן|σχεδιάζει/u],
  [
    'change',
    /现在|現在|今は|改|搬|从此|從此|变|變|になった|引っ越|以前は|이제|지금|이사|바뀌|변경|الآن|انتقل|تغير|أصبح|עכשיו|עבר|τώρα/u,
  ],
];

const SENSITIVE = toMatcher(
  // Health, allergies, medication, diet, safety
  'health* gesund* sante salud salute saude allerg* alerg* intoleran* intolleran* unvertrag* anaphyl* asthma* asma* astma* diabet* celiac* coeliac* zoliak* celiac* epilep* epileps* cancer krebs kanker rak cancro pregnan* schwanger* enceinte embaraz* gravid* incint* medic* medik* leki lekarst* lek ilac* laakk* lakarem* medisin* tabletk* hap medizin* tablet* pill pills dose* dosis dosage mg insulin* antibiot* penicill* aspirin ibuprofen paracetamol vaccin* impf* vacun* surgery operat* diagnos* disease* illness* sick* krank* malad* enferm* malat* doente* ziek* sjuk* syg* chory chora chorob* nemoc* болезн* болен аллерг* лекарств* здоров* betegs* sairaus* hastalik* alerji* sakit penyakit therap* psych* depress* anxiety angst* ansied* suicid* addict* alcohol* alkohol* drug* drogen blood* blut* heart herz herzinfarkt coeur corazon cuore coracao remedi* disab* injur* wound* hospital* ' +
    'vegan* vegetar* diet* diat gluten* lactose* laktos* lactosa lattosio kosher* koscher halal nut nuts peanut* erdnuss* cacahu* arachid* noix nueces nusse shellfish* marisco* crustac* dairy* milcheiweiss pork* schwein* cerdo maiale fasting fasten ramad* ' +
    'safety* sicherheit* danger* gefahr* gefahrlich* peligr* pericol* emergenc* notfall* urgenc* emergen* nodfall* threat* abus* violen* weapon* poison* ' +
    // Money, law, access
    'money salary salar* pensja pensje maas ucret wynagrodz* palkka* fizetes sueldos loon lonn gehalt* lohn* salaire* sueldo stipendi* lon wage* income* einkommen revenu* ingreso* debt* schuld* dlug* skuld* borc* velka dette* deuda* debit* loan* kredit* credit* pret hypothe* mortgage* hipotec* mutuo bank banks bankkonto iban account* konto compte cuenta conto rent czynsz kira hyra huur husleje vuokra miete loyer alquiler affitto tax taxes taxed podatek podatki vergi skatt skatte belasting* steuer* impot* impuesto* budget* price* invoice* rechnung* facture* factura* fattura* payment* pay pays paid zahlt zahlung* bezahl* pension* rente emerytur* emekli* insur* versicher* assur* seguro* assicur* invest* ' +
    'legal* lawyer* anwalt* avocat abogad* avvocat* lawsuit* courtroom* gericht* tribunal* custody sorgerecht divorc* scheidung* geschieden arrest* convict* polic* polizei visa visum citizen* immigra* asylum contract* vertrag* contrat* ' +
    'password* passwort* haslo wachtwoord* losenord* adgangskode sifre jelszo contrasena* senha* passcode* pin pins token* secret* schlussel* clave* chiave login* credential* access zugang* permission* ' +
    // Religion, sexuality, politics
    'relig* church* kirche* eglise iglesia chiesa mosque* moschee* muslim* islam* christ* cathol* kathol* katol* protest* jewish judisch* judio* judeu hindu* buddh* atheis* pray* gebet* faith faiths glaub* ' +
    'gay lesb* bisex* homosex* heterosex* transgen* trans queer sexual* sexuel* orientation* lgbt* ' +
    'politi* vote* votes voted wahlt wahlen vota* partei* party-member socialist* conservat* republican* democrat* kommunist* communist* union-member gewerkschaft* syndicat* sindicat*',
  '过敏 過敏 健康 药 藥 糖尿 癌 病 孕 素食 医 醫 手术 手術 血 工资 工資 薪 钱 錢 债 債 银行 銀行 密码 密碼 法律 律师 律師 宗教 教会 政治 投票 同性 性取向 アレルギー 薬 給料 パスワード 病気 알레르기 건강 약\\s 월급 비밀번호 종교 정치 حساسية صحة دواء راتب كلمة السر אלרג בריאות תרופ सेहत एलर्जी दवा แพ้ ยา 保険 保险 借金 贷款 妊娠 怀孕 고혈압 혈압 임신 대출 보험 채식 دين\\s قرض إيجار حامل نباتي سكري مرض зарплат кредит налог парол беремен вегетариан диабет врач',
);

const TOPICS = toMatcher(
  'index inbox misc* various notes? note log archive old temp todo* tasks? daily journal diary scratch general other others facts? profile user me about self bio basics? personal details? info* background people persons? contacts? family friends? relations* relationships? colleagues coworkers team teams work job career business company projects? prefer* likes? dislikes? interests? hobb* food foods drinks? diet meals? cooking recipes? restaurants? health fitness medical allerg* medication* sports? training travel* trips? places? home house living location addresses? address tools? tech* software hardware devices? setup environment communication* style tone language* format* schedule routine* calendar dates? events? birthdays? anniversar* finance* money budget shopping gifts? books? reading music movies films shows games? media education school studies university learning skills? goals? plans? ideas? decisions? questions? open done current previous history past future status summary overview memory catalog* morning evening weekly monthly yearly vehicles? car pets? animals? garden reminders? preferences? habits? appearance clothing security access accounts? subscriptions? ' +
    'notizen verschiedenes sonstiges allgemein* profil person* kontakte familie freunde arbeit beruf projekte vorlieben essen trinken ernahrung gesundheit reisen orte wohnen werkzeuge kommunikation sprache* termine ereignisse geld finanzen bucher musik filme spiele bildung ziele plane ideen fragen aufgaben hobbys haustiere uber alltag posteingang ' +
    'divers profil preferences contacts famille amis travail emploi projets gouts nourriture cuisine sante voyages lieux maison outils langues evenements argent livres musique objectifs idees taches animaux boite quotidien boissons repas ' +
    'varios notas perfil preferencias contactos familia amigos trabajo empleo proyectos gustos comida salud viajes lugares casa herramientas comunicacion idiomas eventos dinero libros objetivos tareas mascotas bebidas diario entrada personas gente ' +
    'varie note profilo preferenze contatti famiglia amici lavoro progetti cibo salute viaggi luoghi strumenti lingue eventi soldi libri obiettivi compiti animali persone trabalho projetos saude viagens lugares ferramentas tarefas pessoas ' +
    'mensen familie vrienden werk projecten voorkeuren eten drinken gezondheid reizen talen taken dieren',
  '杂 收件 笔记 筆記 个人 個人 资料 資料 偏好 喜好 联系 聯絡 家庭 朋友 工作 项目 專案 饮食 飲食 健康 旅行 工具 语言 語言 目标 任务 人物 目录 メモ プロフィール 好み 家族 友人 仕事 食べ物 旅行 연락처 가족 친구 일상 음식 건강 여행 프로필 취향',
);

const RELATIONS: ReadonlyMap<string, string> = new Map(
  [
    'brother bruder frere hermano fratello irmao broer bror brat брат 哥哥 弟弟 兄 弟',
    'sister schwester soeur sœur hermana sorella irma zus syster soster siostra sestra сестра 姐姐 妹妹 姉 妹',
    'mother mom mum mutter mama mere maman madre mae moeder mor mamma matka мать мама 妈妈 母亲 母',
    'father dad vater papa pere padre pai vader far pappa ojciec otec отец папа 爸爸 父亲 父',
    'wife ehefrau frau femme epouse esposa mujer moglie vrouw fru zona manzelka жена 妻子 太太',
    'husband ehemann mann mari epoux esposo marito maz manzel муж 丈夫 先生',
    'partner partnerin compagnon compagne pareja compagno compagna parceiro girlfriend boyfriend freundin fiance fiancee verlobte',
    'son sohn fils hijo figlio filho zoon syn сын 儿子',
    'daughter tochter fille hija figlia filha dochter dotter corka dcera дочь 女儿',
    'child kid children kinder enfant nino bambino crianca 孩子',
    'manager boss chef chefin vorgesetzte* jefe jefa capo patron supervisor 经理 老板',
    'colleague coworker teammate kollege kollegin collegue companero colega collega kollega 同事',
    'friend freund ami amie amigo amiga amico amica vriend vriendin przyjaciel друг подруга 朋友',
    'neighbour neighbor nachbar nachbarin voisin voisine vecino vecina vicino vizinho buur buurman granne nabo sasiad soused сосед соседка 邻居',
    'roommate flatmate mitbewohner mitbewohnerin colocataire',
    'uncle onkel oncle tio zio oom 叔叔',
    'aunt tante tia zia 阿姨',
    'cousin cousine primo prima cugino cugina neef',
    'grandmother grandma oma grossmutter abuela nonna grand-mere avo 奶奶',
    'grandfather grandpa opa grossvater abuelo nonno grand-pere 爷爷',
    'doctor arzt arztin medecin medico dottore',
    'dog hund chien perro cane cachorro 狗',
    'cat katze chat gato gatto kat 猫',
    'client customer kunde kundin cliente klant 客户',
    'teacher lehrer lehrerin professeur profesor profesora insegnante 老师',
  ].flatMap((row) => {
    const words = row.split(' ').map(fold);
    return words.map((word) => [word.replace('*', ''), words[0] ?? word] as const);
  }),
);

/** Looks for words of a list. */
interface Matcher {
  test(folded: string): boolean;
}

/** Finds words of a table in a row of them, and parts of scripts that have no spaces. */
function toMatcher(words: string, uncased = ''): Matcher {
  const table = new WordTable<true>();
  table.add(words.split(' '), true);
  const part = uncased === '' ? null : new RegExp(uncased.split(' ').join('|'), 'u');
  const has = (phrase: string) => table.get(phrase).length > 0;
  return {
    test(folded) {
      const found = folded.match(/[\p{L}\p{M}]+/gu) ?? [];
      return (
        found.some((word, at) => has(word) || has(`${word} ${found[at + 1] ?? ''}`)) ||
        part?.test(folded) === true
      );
    },
  };
}
