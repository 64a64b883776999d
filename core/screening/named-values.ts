import type { Finding } from './finding.ts';
import {
  isPlaceholder,
  isRandomLooking,
  isShortRandom,
  isStrong,
  isWeakWord,
  readQuoted,
} from './value-looks.ts';

type Kind = 'password' | 'phrase' | 'pin' | 'key' | 'secret' | 'strong_key';

/** Words in lower case that announce a secret; most of them stand inside longer words, too. */
const WORDS: Readonly<Record<Kind, readonly string[]>> = {
  password:
    'password|passwd|passcode|passwort|passwörter|passord|kennwort|contraseña|contrasena|palavra-passe|palavra passe|wachtwoord|hasło|hasła|hasłem|парол|heslo|hesla|lösenord|adgangskode|salasana|jelszó|parolă|şifre|κωδικ|密码|密碼|口令|パスワード|パスコード|비밀번호|암호|패스워드|كلمة السر|كلمة المرور|كلمة مرور|סיסמ|पासवर्ड|รหัสผ่าน|mật khẩu wifi|mật khẩu|kata sandi wifi|kata sandi|mot de passe|mots de passe|mdp|pwd|pass|pw|senha|parola|clave|sifre|lozinka|slaptažodis'.split(
      '|',
    ),
  phrase:
    'passphrase|seed phrase|recovery phrase|wallet phrase|mnemonic|phrase secrète|frase semilla|wiederherstellungsphrase'.split(
      '|',
    ),
  pin: "pin|pin-code|pincode|pin-nummer|geheimzahl|alarm code|door code|gate code|entry code|lock code|safe code|garage code|keypad code|code for the door|code for the safe|code for the alarm|code for the gate|code for the garage|code to the door|code to the safe|code to the gate|alarmcode|türcode|tür-code|torcode|haustürcode|zugangscode|code pin|code de la porte|code de porte|code de l’alarme|code de l'alarme|código de la alarma|código de alarma|código de la puerta|código do alarme|código da porta|codice dell’allarme|codice dell'allarme|codice del cancello|codice della porta|kod do drzwi|kod do alarmu|kod do bramy|kod pin|dörrkod|portkod|dørkode|portkode|deurcode|код от двери|код домофона|код двери|пин-код|пинкод|kapı kodu|暗証番号|门禁密码|暗証|رمز الباب|رمز الدخول|공동현관".split(
    '|',
  ),
  secret: ['secret', 'geheimnis', 'segreto', 'secreto', 'segredo', '시크릿'],
  key: 'key|token|credential|bearer|basic|signature|sig|schlüssel|clé|clef|chiave|chave|ключ|токен|klucz|sleutel|nyckel|nøgle|nøkkel|anahtar|jeton|密钥|密鑰|秘钥|令牌|キー|トークン|키|토큰|مفتاح|رمز|מפתח|कुंजी|cookie'.split(
    '|',
  ),
  strong_key:
    "api key|api-key|api_key|apikey|access key|access_key|accesskey|access token|access_token|access-token|accesstoken|auth token|auth_token|auth-token|authtoken|secret key|secret_key|secretkey|client secret|client_secret|client-secret|clientsecret|private key|private_key|privatekey|signing key|signing_key|encryption key|encryption_key|webhook secret|bearer token|refresh token|refresh_token|api token|api_token|api-token|apitoken|api-schlüssel|clé api|clé d’api|clé d'api|clave de api|clave api|chiave api|chave de api|chave da api|ключ api|api-ключ|klucz api|api-sleutel|api-nyckel|api anahtarı|api 密钥|api密钥|apiキー|apiトークン|api キー|api 키|api키|مفتاح api".split(
      '|',
    ),
};
/** These are words of their own, not parts of others. */
const WHOLE: ReadonlySet<string> = new Set(
  'mdp|pwd|pass|pw|senha|parola|clave|sifre|lozinka|pin|sig|key|cookie|basic|clé|chave|chiave|رمز'.split(
    '|',
  ),
);
/** So short that only `:` and `=` lead to a value. */
const ASSIGNED_ONLY: ReadonlySet<string> = new Set('pass|sig|cookie|basic|bearer'.split('|'));

const KIND_OF = new Map<string, Kind>();
for (const kind of Object.keys(WORDS) as Kind[]) {
  for (const word of WORDS[kind]) KIND_OF.set(word, kind);
}
// The longest first, since an alternation takes the first that fits.
const ANY_WORD = new RegExp(
  [...KIND_OF.keys()].toSorted((a, b) => b.length - a.length).join('|'),
  'g',
);

/** What makes another thing of a word when it stands in the same name: `password_hash`, `primary_key`. */
const NOT_AFTER =
  /^[\s_-]?(?:hash|count|length|limit|id\b|ids\b|name|file|path|url|uri|policy|manager|less|type|field|hint|reset|rules?|strength|size|usage|budget|price|cost|expir|rotation|generator|board|pair|word|note|phrase|point|stone|pad|store|vault|ring|stroke|chain|bind|frame|figure|fact|result|learning|takeaway|account|person|holder|agnostic|ization|izer|ize|santa|sauce|garden|service|agent)/i;
const NOT_BEFORE =
  /(?:public|primary|foreign|cache|caching|sort|partition|idempotency|idempotenz|object|hot|cut|short|translation|i18n|map|dict|json|row|group|composite|natural|surrogate|candidate|unique|index|lookup|dedup\w{0,8}|page|next|cursor|continuation|pagination|sync|csrf|monkey|tur|hoc|jockey|whis|don|pub|ssh-ed25519|ssh-rsa|car|house|office|cl)[\s_-]?$/i;

const CLOSES = '[*_`"\'’”»)\\]]{0,4}';
/** Verbs between a word and its value. */
const COPULAS =
  'is|was|has been|will be|ist|lautet|war|heißt|est|es|è|é|era|jest|brzmi|är|er|on|je|zní|—|là|adalah|هي|هو|है|это|to|changed to|set to|reset to|теперь|сейчас|now';
/** What narrows a word, as in `password for the router`, up to the sign or verb that leads to the value. */
const PHRASE = new RegExp(
  `[*_\`"'’”»]{0,4}(?: ?[([][^()[\\]\\n]{1,40}[)\\]]|[ \\t](?:for|of|to|on|at|from|für|zum|zur|vom|von|des|der|du|de|d['’]|del|della|delle|dell['’]|do|da|dla|voor|van|för|till|til|på|от|для|до|від|к|на|pour|para|per|pro|için|k|ke|wi-?fi|wlan|router|admin|root|vpn|الواي)[ \\t]?[^\\n:=.;!?|]{0,40}?(?=\\s*(?:[:=|：—–]|->|→|(?<![\\p{L}])(?:${COPULAS})(?![\\p{L}]))))`,
  'iuy',
);
const ASSIGNS = new RegExp(
  `${CLOSES}[ \\t]{0,4}(?::=|::?|=>?|：|＝|->|→|–|—|\\||-(?=[ \\t]))(?!//)(?:[*_]{1,3}(?=[ \\t]))?[ \\t]{0,8}`,
  'y',
);
const ADVERBS =
  'still|now|currently|always|again|changed|set|reset|jetzt|nun|noch|immer|maintenant|toujours|ahora|agora|adesso|ora|nu|teraz|теперь|сейчас';
const SAYS = new RegExp(
  `${CLOSES}(?:[ \\t](?:${COPULAS})(?:[ \\t](?:${ADVERBS})){0,2}(?:[ \\t](?:to|zu|auf|na))?(?:[ \\t]{1,3}|:[ \\t]{0,3})|[ \\t]{0,2}(?:现在|現在|目前|今は|지금은)?[ \\t]?(?:は|が|是|为|為|은|는|이|가)[、，,：:]?[ \\t]{0,2})`,
  'iuy',
);
const NEXT_LINE =
  /[*_`]{0,3}[ \t]{0,3}[:：=]?[*_`]{0,3}[ \t]{0,3}\\?\r?\n(?:[ \t]*\r?\n)?[ \t>]{0,8}(?:[-*+] )?/y;
const SPACE = /[*_`"']{0,3}[ \t]{1,3}/y;
const IS_LETTER = /\p{L}/u;
/** What may follow the word as a part of its name: an ending, `_PROD`, `Value`. */
const REST_OF_NAME = /[\p{L}\p{M}\d_-]{0,24}/uy;
const PIN_VALUE = /[*_`"'“„]{0,3}#?(\d[\d -]{2,8}\d)(?![\d:.,]?\d|[A-Za-z\u00c0-\u04ff%€$£])/y;
/** The digits of a PIN that its word names: an Indian PIN code is a place. */
const PIN_DIGITS = { least: 4, most: 8 };

/** Finds passwords, PINs, keys and tokens by the words in front of them, in linear time. */
export function findNamedValues(text: string): Finding[] {
  const lower = toLower(text);
  const findings: Finding[] = [];
  ANY_WORD.lastIndex = 0;
  for (let match = ANY_WORD.exec(lower); match !== null; match = ANY_WORD.exec(lower)) {
    const [word] = match;
    const kind = KIND_OF.get(word) as Kind;
    if (!isWord(text, lower, { word, at: match.index, kind })) continue;
    const found = readValue(text, { word, kind, at: match.index });
    if (found === null) continue;
    findings.push(found);
    ANY_WORD.lastIndex = Math.max(ANY_WORD.lastIndex, found.end);
  }
  return findings;
}

/** Lower case of the same length. */
function toLower(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replaceAll('İ', 'I').toLowerCase();
}

function isWord(
  text: string,
  lower: string,
  { word, at, kind }: { word: string; at: number; kind: Kind },
): boolean {
  const end = at + word.length;
  if (WHOLE.has(word)) {
    const before = at === 0 ? '' : (text[at - 1] as string);
    const first = text[at] as string;
    const isCamel = first !== lower[at];
    if (before !== '' && IS_LETTER.test(before) && !isCamel) return false;
    const after = lower[end] ?? '';
    const isPlural = after === 's' && !IS_LETTER.test(lower[end + 1] ?? '');
    if (IS_LETTER.test(after) && !isPlural && (text[end] as string) === after) return false;
  }
  if (kind === 'pin') return true;
  if (NOT_AFTER.test(lower.slice(end, end + 16))) return false;
  return kind === 'password' || !NOT_BEFORE.test(lower.slice(Math.max(0, at - 14), at));
}

function readValue(
  text: string,
  { word, kind, at }: { word: string; kind: Kind; at: number },
): Finding | null {
  REST_OF_NAME.lastIndex = at + word.length;
  REST_OF_NAME.exec(text);
  const nameEnds = [REST_OF_NAME.lastIndex, at + word.length];
  for (const end of new Set(nameEnds)) {
    const found = kind === 'pin' ? readPin(text, end) : readFrom(text, { word, kind, end });
    if (found === null) continue;
    const isKey = kind === 'key' || kind === 'secret' || kind === 'strong_key';
    const name = isKey ? 'a key or token' : 'a password or key';
    return { kind: isKey ? 'key' : 'password', name, policy: 'secrets', ...found };
  }
  return null;
}

/** The ways from a word to its value, with what the value must look like. */
function readFrom(
  text: string,
  { word, kind, end }: { word: string; kind: Kind; end: number },
): { start: number; end: number } | null {
  const isOfPassword = kind === 'password' || kind === 'phrase';
  const plain = skip(ASSIGNS, text, end);
  let hasValue = false;
  if (plain !== null) {
    const found = readQuoted(text, plain);
    hasValue = found !== null;
    if (found !== null && looksAssigned(text, found, kind)) return found;
    if (kind === 'phrase') return readWords(text, plain);
  }
  const next = skip(NEXT_LINE, text, end);
  if (next !== null && !hasValue) {
    const found = readQuoted(text, next);
    const isAlone = found !== null && isLineEnd(text, found.end);
    if (isAlone && looks(text, found, kind)) return found;
  }
  if (ASSIGNED_ONLY.has(word) && word !== 'bearer' && word !== 'basic') return null;
  const said = skip(SAYS, text, end);
  if (said !== null) {
    const found = readQuoted(text, said);
    if (found !== null) {
      const isQuoted = found.isQuoted && isOfPassword;
      if (looks(text, found, kind) || (isQuoted && isWeakWord(text.slice(found.start, found.end))))
        return found;
    }
  }
  const phrase = skip(PHRASE, text, end);
  if (phrase !== null) {
    for (const way of [ASSIGNS, SAYS]) {
      const from = skip(way, text, phrase);
      const found = from === null ? null : readQuoted(text, from);
      if (found !== null && looks(text, found, kind)) return found;
    }
  }
  const spaced = skip(SPACE, text, end);
  if (spaced === null) return null;
  const found = readQuoted(text, spaced);
  if (found === null) return null;
  if (found.isQuoted || !isOfPassword) return looks(text, found, kind) ? found : null;
  return isStrong(text.slice(found.start, found.end), { isSpoken: true }) ? found : null;
}

function skip(pattern: RegExp, text: string, from: number): number | null {
  pattern.lastIndex = from;
  return pattern.exec(text) === null ? null : pattern.lastIndex;
}

interface Value {
  start: number;
  end: number;
  isQuoted: boolean;
}

function looks(text: string, { start, end }: Value, kind: Kind): boolean {
  const value = text.slice(start, end);
  if (isPlaceholder(value)) return false;
  if (kind === 'strong_key')
    return isShortRandom(value) || isRandomLooking(value, { isHashOk: true });
  if (kind === 'key' || kind === 'secret') {
    return isRandomLooking(value, { isHashOk: kind === 'secret' });
  }
  return isStrong(value);
}

function looksAssigned(text: string, value: Value, kind: Kind): boolean {
  if (looks(text, value, kind)) return true;
  if (kind !== 'password') return false;
  const word = text.slice(value.start, value.end);
  return isWeakWord(word) && (value.isQuoted || isLineEnd(text, value.end));
}

function isLineEnd(text: string, at: number): boolean {
  const end = text.indexOf('\n', at);
  return /^[\s*_`"'”»;,.)\]}|\\]*$/.test(
    text.slice(at, Math.min(end === -1 ? text.length : end, at + 16)),
  );
}

/** `correct horse battery staple`: four words or more without one that a sentence has. */
function readWords(text: string, from: number): { start: number; end: number } | null {
  const line = /[^\n]{0,300}/y;
  line.lastIndex = from;
  const [said = ''] = line.exec(text) ?? [];
  const words = said.trim().replace(/^["'`*]{1,4}|(?<!["'`*.])["'`*.]{1,4}$/g, '');
  if (!/^\p{L}{2,12}(?:[ -]\p{L}{2,12}){3,23}$/u.test(words)) return null;
  if (
    /(?<!\p{L})(?:the|in|it|is|to|of|and|for|at|on|see|with|die|der|das|im|und|le|la|les|el|en|de|il|di|do|na)(?!\p{L})/iu.test(
      words,
    )
  )
    return null;
  const start = text.indexOf(words, from);
  return { start, end: start + words.length };
}

function readPin(text: string, end: number): { start: number; end: number } | null {
  const phrase = skip(PHRASE, text, end);
  const ways = [ASSIGNS, SAYS, SPACE].map((way) => skip(way, text, end));
  const narrowed = phrase === null ? [] : [ASSIGNS, SAYS].map((way) => skip(way, text, phrase));
  for (const from of [...ways, ...narrowed]) {
    if (from === null) continue;
    PIN_VALUE.lastIndex = from;
    const match = PIN_VALUE.exec(text);
    const [whole = '', value = ''] = match ?? [];
    const digits = value.replaceAll(/\D/g, '').length;
    if (match === null || digits < PIN_DIGITS.least || digits > PIN_DIGITS.most) continue;
    if (/^\d{4}-\d\d-\d\d$/.test(value)) continue;
    const start = from + whole.length - value.length;
    return { start, end: start + value.length };
  }
  return null;
}

const URL_PASSWORD =
  /(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}:\/\/[^\s/:@]{0,64}:([^\s/]{3,128})@(?=[\w[])/g;
const AZURE_KEY = /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/=]{40,120})/g;
const COMMAND_PASSWORDS = [
  /--?(?:password|passwd|pass|pw|token|api-key|secret)[ =]["']?([^\s"'<>$]{6,128})/g,
  /(?:curl|wget)[^\n|]{0,100}? -u ?["']?[^\s:"']{1,64}:([^\s"'<>$]{4,128})/g,
  /(?:mysql\w{0,8}|mariadb|sshpass)[^\n|]{0,100}? -p["']?([^\s"'<>$]{4,128})/g,
];

/** Finds passwords inside of addresses, connection strings and command lines. */
export function findEmbeddedPasswords(text: string): Finding[] {
  const findings: Finding[] = [];
  const add = (pattern: RegExp, name: string, accepts: (value: string) => boolean) => {
    for (const match of text.matchAll(pattern)) {
      const [whole, value = ''] = match;
      if (isPlaceholder(value) || !accepts(value)) continue;
      const start = match.index + whole.lastIndexOf(value);
      findings.push({
        kind: 'password',
        name,
        policy: 'secrets',
        start,
        end: start + value.length,
      });
    }
  };
  if (text.includes('://'))
    add(URL_PASSWORD, 'a password in a URL', (value) => !/^pass(?:word)?$/i.test(value));
  if (text.includes('Key=')) add(AZURE_KEY, 'a password or key', () => true);
  if (text.includes(' -')) {
    for (const pattern of COMMAND_PASSWORDS) add(pattern, 'a password or key', isStrong);
  }
  return findings;
}
