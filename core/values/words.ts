import { fold } from './fold.ts';
import { WordTable } from './word-table.ts';

/**
 * Words that say how a fact is meant, in the languages that search tells apart and some that it need
 * not. Entries are folded: lower case, Latin letters without their accents; `*` stands for any ending.
 */

/** Whether a text denies something: no, not, never, without, any more… */
export function hasNegation(text: string): boolean {
  return NEGATION.test(fold(text)) || /n['’]t(?![\p{L}])/iu.test(text);
}

/** The kinds of modal words in a text: must, should, may, might, want, if, plan. */
export function modalsOf(text: string): Set<string> {
  const folded = fold(text);
  return new Set(MODALS.filter(([, words]) => words.test(folded)).map(([name]) => name));
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

const NEGATION = toMatcher(
  // English, German, Dutch
  'not no never none nobody nothing neither nor cannot cant dont doesnt wont without anymore except avoid* dislike* hate* refus* stop* quit former* nicht kein* nie niemals niemand nichts ohne weder nimmer niet geen nooit zonder niemand nergens ' +
    // French, Spanish, Portuguese, Italian, Romanian
    'ne pas jamais sans aucun* personne rien ni nunca jamas sin nadie nada tampoco ningun* nao nem sem nenhum* ninguem non mai senza nessun* niente nu fara niciodata nimic ' +
    // Swedish, Danish, Norwegian, Finnish, Hungarian, Turkish, Indonesian
    'inte aldrig ingen inget utan ikke ikkje aldri uten intet ej eivat ei koskaan ilman nem nincs soha nelkul degil yok asla hic* tidak bukan jangan tanpa belum ' +
    // Polish, Czech, Russian, Greek
    'nie nigdy bez nikt nic zaden zadn* ne neni nikdy zadny nikdo не нет никогда без никто ничего нельзя δεν μην ποτε χωρις ' +
    // Words that mean it by themselves
    'unable nowhere hardly',
  '不 没 沒 無 无 未 非 别 勿 ない ません なし 않 없 아니 안\\s 못 لا ليس لم لن بدون לא אין בלי नहीं मत बिना ไม่',
);

const MODALS: readonly (readonly [string, Matcher])[] = [
  [
    'must',
    'must need* have-to has-to required mandatory muss* mussen moet* doit devoir doivent debe* tiene-que deve* deben obbligat* maste skal* musi trzeba musí должен должна нужно pitaa kell lazim harus trebuie',
    '必须 必須 しなければ 해야 يجب חייב',
  ],
  [
    'should',
    'should ought recommend* sollte* soll sollen devrait deberia* dovrebbe deveria zou-moeten borde burde powin* следует pitaisi kellene seharusnya',
    '应该 應該 べき',
  ],
  [
    'may',
    'may allowed permitted darf durf* peut puede* podria puo pode mag får far kan može może puede-que bisa boleh',
    '可以 てもいい',
  ],
  [
    'might',
    'might maybe perhaps probably possibly could likely vielleicht moglicherweise wahrscheinlich peut-etre probablement quiza* tal-vez probablemente forse talvez misschien kanske maske moze mozna может возможно ehka talan belki mungkin poate',
    '可能 也许 也許 かもしれ 아마 ربما אולי शायद',
  ],
  [
    'want',
    'want* wish* hope* would-like mochte* will wunsch* veut voudrait souhait* quiere* quisiera espera vuole vorrei quer wil hoop* vill onska* chce chtel хочет хочу haluaa akar istiyor ingin vrea',
    '想 希望 たい 싶 يريد רוצה चाह',
  ],
  [
    'if',
    'if unless whether provided wenn falls sofern si sauf-si a-condition caso als indien tenzij om hvis jesli jezeli pokud если jos eger jika daca',
    '如果 假如 もし たら 면\\s إذا אם अगर',
  ],
  [
    'plan',
    'plan* intend* consider* going-to thinking-of plant plane vorhab* geplant prevoit compte-faire piensa planea prevede pensa planeja planer* planuj* планир* suunnit* tervez* berencana',
    '打算 计划 計劃 つもり 予定 계획',
  ],
].map(([name = '', words = '', uncased = '']) => [name, toMatcher(words, uncased)] as const);

const SENSITIVE = toMatcher(
  // Health, allergies, medication, diet, safety
  'health* gesund* sante salud salute saude allerg* alerg* intoleran* intolleran* unvertrag* anaphyl* asthma* asma* astma* diabet* celiac* coeliac* zoliak* celiac* epilep* epileps* cancer krebs kanker rak cancro pregnan* schwanger* enceinte embaraz* gravid* incint* medic* medik* medizin* tablet* pill pills dose* dosis dosage mg insulin* antibiot* penicill* aspirin ibuprofen paracetamol vaccin* impf* vacun* surgery operat* diagnos* disease* illness* sick* krank* malad* enferm* malat* doente* ziek* sjuk* syg* chory chora chorob* nemoc* болезн* болен аллерг* лекарств* здоров* betegs* sairaus* hastalik* alerji* sakit penyakit therap* psych* depress* anxiety angst* ansied* suicid* addict* alcohol* alkohol* drug* drogen blood* blut* heart* herz* coeur corazon cuore coracao remedi* disab* injur* wound* hospital* ' +
    'vegan* vegetar* diet* diat gluten* lactose* laktos* lactosa lattosio kosher* koscher halal nut nuts peanut* erdnuss* cacahu* arachid* noix nueces nusse shellfish* marisco* crustac* dairy* milcheiweiss pork* schwein* cerdo maiale fasting fasten ramad* ' +
    'safety* sicherheit* danger* gefahr* gefahrlich* peligr* pericol* emergenc* notfall* urgenc* emergen* nodfall* threat* abus* violen* weapon* poison* ' +
    // Money, law, access
    'money salary salar* gehalt* lohn* salaire* sueldo stipendi* lon wage* income* einkommen revenu* ingreso* debt* schuld* dette* deuda* debit* loan* kredit* credit* pret hypothe* mortgage* hipotec* mutuo bank* iban account* konto compte cuenta conto rent miete loyer alquiler affitto tax* steuer* impot* impuesto* budget* price* invoice* rechnung* facture* factura* fattura* payment* pay pays paid zahl* pension* rente insur* versicher* assur* seguro* assicur* invest* ' +
    'legal* lawyer* anwalt* avocat abogad* avvocat* lawsuit* courtroom* gericht* tribunal* custody sorgerecht divorc* scheid* arrest* convict* polic* polizei visa visum citizen* immigra* asylum contract* vertrag* contrat* ' +
    'password* passwort* contrasena* senha* passcode* pin pins token* secret* schlussel* clave* chiave login* credential* access* zugang* permission* ' +
    // Religion, sexuality, politics
    'relig* church* kirche* eglise iglesia chiesa mosque* moschee* muslim* islam* christ* cathol* kathol* katol* protest* jewish judisch* judio* judeu hindu* buddh* atheis* pray* gebet* faith* glaub* ' +
    'gay lesb* bisex* homosex* heterosex* transgen* trans queer sexual* sexuel* orientation* lgbt* ' +
    'politi* vote* votes voted wahlt wahlen vota* partei* party-member socialist* conservat* republican* democrat* kommunist* communist* union-member gewerkschaft* syndicat* sindicat*',
  '过敏 過敏 健康 药 藥 糖尿 癌 病 孕 素食 医 醫 手术 手術 血 工资 工資 薪 钱 錢 债 債 银行 銀行 密码 密碼 法律 律师 律師 宗教 教会 政治 投票 同性 性取向 アレルギー 薬 給料 パスワード 病気 알레르기 건강 약\\s 월급 비밀번호 종교 정치 حساسية صحة دواء راتب كلمة السر אלרג בריאות תרופ सेहत एलर्जी दवा แพ้ ยา',
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
