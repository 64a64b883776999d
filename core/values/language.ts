import { findNumberWords, mayCountIn } from './number-words.ts';
import { fold } from './fold.ts';

/**
 * Function words of languages in Latin letters, and verbs that notes often begin with; folded. They tell in
 * which language a line is, so that a word is a number in its own language alone: `to` in Danish, `on` in
 * Turkish, `once` in Spanish. A word may stand in several rows.
 */
const WORDS: Readonly<Record<string, string>> = {
  en: 'the a an and in of is are was were been has have had with for from that this these those they them their there which what when where who why how would should could can not but about if then than because while your you she he her his its our my does did each every other by it be or at on to i we as up out off us no now also likes wants works lives prefers moved plays takes owns goes gets pays meets uses reads drinks eats who at until since before after during past last next every near again more most only once twice week month year day days weeks months years page runs cost costs starts leaves needs bought sold born kids dogs boxes keys bus',
  de: 'der die das den dem des und ist sind war nicht ein eine einen einem einer eines ich sie er wir ihr es mit fur auf in im am an von vom zu zum zur bei aus nach auch wird wurde werden haben hat hatte noch nur oder aber wie uber als wenn weil dass mein meine sein seine ihre kein keine mag immer seit bis ab um uhr jeden jede jetzt fruher gern gerne wohnt arbeitet trinkt spielt heisst kommt geht fahrt nimmt bekommt vor euro tage woche monat jahr jahre kinder halb viertel gegen statt ohne mehr',
  fr: 'le la les l un une des et est sont dans pour pas que qui sur avec au aux du de ce cette ces il elle nous vous ils elles ete mais ou sa ses son mes mon ma je j tu ne n se s par chez aime tres etre a en y depuis jusqu avant apres chaque plus moins sans deja habite travaille prefere joue boit mange prend va fait part commence coute tous toutes jours semaine mois an ans heures euros lui leur si ou',
  es: 'el la los las un una unos unas y en es son de del por con para como mas pero su sus al a muy este esta esto si yo mi mis tiene tienen gusta porque cuando donde que no se lo le les hay desde hasta cada antes ahora ya sin vive trabaja prefiere juega bebe come toma va hace sale cuesta empieza todos todas dias semana mes ano anos euros hora horas entre sobre tambien media',
  pt: 'o a os as um uma uns umas e em no na nos nas do da dos das de ao aos a por com para como mais mas seu sua seus suas ele ela eles elas voce eu meu minha tem sao foi quando que nao se lhe ha desde ate cada antes agora ja sem mora trabalha prefere gosta joga bebe come toma vai faz sai custa comeca todos todas dias semana mes ano anos euros hora horas pelo pela muito tambem meia',
  it: 'il lo la i gli le un uno una e di che sono del della dei delle dal dalla al alla alle ai nel nella nei per con su da in a non si ma anche piu questo questa molto piace ha hanno era come suo sua suoi sue mio mia ogni prima dopo ora adesso senza fino vive abita lavora preferisce gioca beve mangia prende va fa parte inizia costa tutti tutte giorni settimana mese anno anni euro ore sempre mezza c ci',
  nl: 'de het een en van in is zijn dat die niet op te voor aan er maar ook naar wordt heeft hebben had ik je hij zij ze we mijn haar hun deze dit uit graag om met door bij als tot sinds elke elk nu nog geen over uur woont werkt houdt speelt drinkt eet neemt gaat komt wil kost begint dagen week maand jaar jaren euro half kwart dan',
  sv: 'och att det som en ett av i pa ar inte jag hon han den de om med for till fran har hade var sin sitt sina min mitt mina men ocksa efter innan nu varje bor arbetar jobbar gillar spelar dricker ater tar gar kommer vill kostar borjar dagar vecka manad kr kronor kl klockan halv kvart sedan utan eller hos nar',
  da: 'og at det som en et af i pa er ikke jeg hun han den de om med for til fra har havde var sin sit sine min mit mine men ogsa efter nu hver bor arbejder kan spiller drikker spiser tager gar kommer vil koster begynder dage uge maned ar kr kroner kl klokken halv kvart siden uden eller hos nar blev',
  nb: 'og at det som en et ei av i pa er ikke jeg hun han den de om med for til fra har hadde var sin sitt sine min mitt mine men ogsa etter na hver bor jobber liker spiller drikker spiser tar gar kommer vil koster begynner dager uke maned ar kr kroner kl klokka halv kvart siden uten eller hos nar ble',
  pl: 'i w z na do nie jest sa sie ze jak to co czy ktory ktora ktore przez jego jej ich juz tylko bardzo lubi ma mial miala po od dla za o a ale lub przed pod nad co kazdy kazda teraz wczesniej mieszka pracuje woli gra pije je bierze idzie chce kosztuje zaczyna dni tydzien tygodniu miesiac rok lat zl godzina wpol kwadrans moja moj swoj bez',
  cs: 'a v ve na do ne je jsou se si ze jak to co ktery ktera ktere jeho jeji jejich uz jen velmi rad rada ma mel mela po od pro za o ale nebo pred pod nad kazdy kazde ted drive bydli pracuje hraje pije ji bere chodi jde chce stoji zacina dni tyden tydnu mesic rok let kc hodin pul ctvrt s z k muj moje bez',
  tr: 've bir bu ile icin cok degil gibi daha olarak da de ne var yok mi o onun her simdi once sonra saat gun hafta ay yil lira kadar ama veya oturuyor calisiyor seviyor oynuyor icer alir aliyor gider yer baslar kac bucuk ceyrek cunku eskiden artik',
  fi: 'ja on ei se etta mutta ovat tai han hanen oli kun niin kuin myos ennen nyt joka kanssa ilman jo vain asuu tyoskentelee pitaa pelaa juo syo ottaa menee haluaa maksaa alkaa paiva viikko kuukausi vuosi vuotta kello puoli minun',
  hu: 'a az egy es van nem hogy csak is ez azt meg mar de vagy ha aki ami mint minden most elott utan ota ig nelkul lakik dolgozik szeret jatszik iszik eszik szed megy akar kerul kezdodik nap het honap ev ora fel negyed',
  ro: 'si un o de la in este sunt pentru cu pe din nu ca care mai dar sau al ale ei lui are avea era fiecare acum inainte dupa fara pana locuieste lucreaza place joaca bea mananca ia merge vrea costa incepe zile saptamana luna an ani lei ora',
  id: 'yang dan di ke dari ini itu tidak dengan untuk adalah saya suka pada dia akan sudah bukan atau tetapi karena setiap sekarang sebelum sesudah tanpa tinggal bekerja bermain minum makan pergi mau harga mulai hari minggu bulan tahun jam anak ada',
};

/** Letters that few languages have: each counts as half a word. */
const LETTERS: readonly (readonly [letters: RegExp, languages: string])[] = [
  [/ß/gu, 'de'],
  [/[äöü]/gu, 'de sv fi hu tr'],
  [/[ñ¿¡]/gu, 'es'],
  [/[ãõ]/gu, 'pt'],
  [/[àèù]/gu, 'fr it'],
  [/[êîûœë]|\b[lcdjnsqu]+’|\b(?:l|d|j|qu|n|s|c)'/gu, 'fr'],
  [/ç/gu, 'fr pt tr'],
  [/[áíú]/gu, 'es pt cs hu'],
  [/ó/gu, 'es pt pl hu'],
  [/[òì]/gu, 'it'],
  [/å/gu, 'sv da nb'],
  [/[æø]/gu, 'da nb'],
  [/[łąęśźżńć]/gu, 'pl'],
  [/[ěřůčšžý]/gu, 'cs'],
  [/[ğış]/gu, 'tr'],
  [/[őű]/gu, 'hu'],
  [/[ăâșțî]/gu, 'ro'],
];

/** Languages by their script, of which one is enough. */
const SCRIPTS: readonly (readonly [letters: RegExp, language: string])[] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja'],
  [/\p{Script=Hangul}/u, 'ko'],
  [/\p{Script=Han}/u, 'zh'],
  [/[іїєґ]/iu, 'uk'],
  [/\p{Script=Cyrillic}/u, 'ru'],
  [/[پچژگک]/u, 'fa'],
  [/\p{Script=Arabic}/u, 'ar'],
  [/\p{Script=Hebrew}/u, 'he'],
  [/\p{Script=Greek}/u, 'el'],
  [/\p{Script=Devanagari}/u, 'hi'],
  [/\p{Script=Thai}/u, 'th'],
];

/** All languages that are told apart. */
export const LANGUAGES: readonly string[] = [
  ...Object.keys(WORDS),
  ...SCRIPTS.map(([, language]) => language),
];

/** A word of Latin letters that is no part of something with digits in it. */
const WORD = /(?<![\p{Nd}.-])[\p{Script=Latin}\p{M}]+(?!\p{Nd})/gu;
/** A letter is as often a name for something: `class a`. */
const LETTER_WEIGHT = 0.5;

const LANGUAGES_OF: ReadonlyMap<string, readonly string[]> = toTable();

/**
 * The languages that a text may be in, the likeliest alone where its words tell; else those of the text around
 * it, else English.
 */
export function readLanguages(text: string, around: readonly string[] = []): readonly string[] {
  const own = SCRIPTS.find(([letters]) => letters.test(text))?.[1];
  const scores = new Map<string, number>();
  const add = (languages: Iterable<string>, weight: number) => {
    for (const one of languages) scores.set(one, (scores.get(one) ?? 0) + weight);
  };
  for (const [word] of fold(text).matchAll(WORD)) {
    add(LANGUAGES_OF.get(word) ?? [], word.length === 1 ? LETTER_WEIGHT : 1);
  }
  const lower = text.toLowerCase();
  for (const [letters, languages] of LETTERS) {
    const count = lower.match(letters)?.length ?? 0;
    if (count > 0) add(languages.split(' '), Math.min(2, count) / 2);
  }
  const most = Math.max(0, ...scores.values());
  const likely = [...scores].filter(([, score]) => score === most).map(([one]) => one);
  const known = likely.filter((one) => around.includes(one));
  const isVague = most === 0 || (likely.length > MOST_LANGUAGES && known.length === 0);
  const latin = isVague ? around.filter((one) => one in WORDS) : known.length > 0 ? known : likely;
  if (own !== undefined) return [own, ...(most > 1 ? latin : [])];
  if (latin.length > 0) return latin;
  const counted = listCountedIn(text);
  return counted.length > 0 ? counted : ['en', UNKNOWN];
}

/** The languages of a long number word, where nothing else tells: `trois enfants`. */
function listCountedIn(text: string): string[] {
  const words = (text.match(/\p{L}{5,}/gu) ?? []).filter(
    (word) => !/^(?:seize|mille)$/iu.test(word),
  );
  if (words.length === 0) return [];
  const possible = new Set(words.flatMap(mayCountIn));
  const long = words.join('. ');
  return Object.keys(WORDS).filter(
    (language) => possible.has(language) && findNumberWords(long, [language]).length > 0,
  );
}

/** Stands beside English where nothing tells the language. */
export const UNKNOWN = 'und';
/** A text that more languages could have tells nothing. */
const MOST_LANGUAGES = 3;

/** The languages of a memory or of the lines of an operation, the most frequent first. */
export function readSurroundings(texts: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    const languages = readLanguages(text);
    if (languages.includes(UNKNOWN)) continue;
    for (const one of languages) counts.set(one, (counts.get(one) ?? 0) + 1 / languages.length);
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return [...counts]
    .filter(([, count]) => count >= all * LEAST_SHARE)
    .sort((a, b) => b[1] - a[1])
    .map(([one]) => one);
}

/** Of the lines that tell, a language has at least this share. */
const LEAST_SHARE = 0.15;

function toTable(): Map<string, string[]> {
  const table = new Map<string, string[]>();
  for (const [language, words] of Object.entries(WORDS)) {
    for (const word of new Set(words.split(' '))) {
      table.set(word, [...(table.get(word) ?? []), language]);
    }
  }
  return table;
}
