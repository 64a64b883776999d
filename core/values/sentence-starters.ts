import { toEnglishTerm } from '../search/text/english.ts';

/**
 * Whether a word in capitals at the beginning of a line is a common one, in any of its English forms
 * (`Stopped`, `Came`, `Meetings`), and so no name. What is not in the list may be one.
 *
 * @param word in lower case.
 */
export function isOpener(word: string): boolean {
  return WORDS.has(word) || TERMS.has(toEnglishTerm(word));
}

/** What people do and have, as lines of memory begin with it. No word that is a given name too. */
const ENGLISH =
  'accept add adopt agree aim apply arrange arrive ask attend avoid bake become begin believe book born ' +
  'borrow bring build buy call campaign cancel care carry celebrate change choose climb close coach ' +
  'collect come commute complete consider continue contribute cook create cut cycle dance decide ' +
  'describe design develop discuss dislike divorce donate dream drink drive earn eat encourage enjoy ' +
  'exercise expect explain explore fail feel find finish fix fly focus follow forget found garden gather ' +
  'get give go goes graduate grow hate have hear help hike hire hold host install intend interview invite join ' +
  'keep know launch lead lean learn leave lend lift like listen live look lose love maintain make manage ' +
  'meditate meet mention mentor miss motivate move need network obtain offer open order organise ' +
  'organize own paint passed pay photograph plan plant play practice practise prefer prepare promote ' +
  'propose publish quit read receive recommend record recover refuse register relax remember renovate ' +
  'rent repair replace report request research restart retire return run save say schedule see sell send ' +
  'serve share show sing sleep speak spend start stay stop struggle study subscribe suffer support swim switch ' +
  'take talk teach tell think train travel try turn understand undergo upgrade use view visit volunteer ' +
  'wait wake walk want watch wear win wish work worry write ' +
  'account activity address adoption age aim allergic allergy anniversary apartment appointment background bike ' +
  'birth birthday boss breakfast brother budget business car career cat catalog child city class client ' +
  'code colleague college colour color communication community company condition contact cost country ' +
  'course current customer dad database date daughter deadline decision degree detail diet dinner doctor dog ' +
  'drink education election email employer event exam experience family father favourite favorite ' +
  'feature finance fitness flat flight food friend game general goal group habit health height history hobby ' +
  'holiday home hotel house husband idea income index interest investment invoice issue job journey kid ' +
  'language lunch married medication meeting member memory milestone misc mom morning mother motivation movie ' +
  'music name neighbor neighbour neighbourhood neighborhood nickname note number office owner parent ' +
  'partner password pension people period personal pet phone plan preference previous priority problem ' +
  'profile profession progress project pronoun purpose question reason recipe relationship religion ' +
  'reminder reservation result role routine salary schedule school script server ship shop sibling size ' +
  'skill sister son sport stack status step strategy subscription summary task teacher team text ticket ' +
  'time timezone title todo tool topic tradition training trip university user vacation vegan vegetarian ' +
  'version visa website wedding weight wife workout ' +
  'about after almost already also always another around as at because before behind beside between both ' +
  'by currently daily during each early earlier every everything evening first for former formerly from ' +
  'has had her his if in instead last late lately later less likely mainly may monthly more most mostly ' +
  'much never new next no not now of often old on once one only originally other previously rarely ' +
  'recently regularly roughly several since so some sometimes soon still their then there they this to ' +
  'today together tomorrow two usually very weekly when where while will with within without yearly ' +
  'yesterday';

const OTHERS =
  'mag trinkt nutzt arbeitet wohnt bevorzugt plant immer nie jetzt früher aime préfère utilise travaille ' +
  'habite toujours jamais prefiere usa trabaja vive siempre nunca ahora';

const WORDS: ReadonlySet<string> = new Set(`${ENGLISH} ${OTHERS}`.split(' '));
const TERMS: ReadonlySet<string> = new Set(ENGLISH.split(' ').map(toEnglishTerm));
