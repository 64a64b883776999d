const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”',
  '„': '“”',
  '«': '»',
  '»': '«',
  '「': '」',
  '『': '』',
  '‘': '’',
};
/** What is longer is a document, not a key. */
const VALUE_LENGTH = 4_096;
const PASSWORD_LENGTH = 128;
const OPENS = /(?:\*\*|__)?[*_]?(["'`“„«»「『‘]?)`{0,2}/y;
const BARE = /[^\s<>|"“”„«»「」『』`、。，；]{1,4097}/y;
const WIDE = /[\p{sc=Arabic}\p{sc=Devanagari}\p{sc=Hira}\p{sc=Kana}\p{sc=Han}\p{sc=Hangul}]/u;

/** A value from a place on: what stands in quotes, else up to the next space. `null` if there is none. */
export function readQuoted(
  text: string,
  from: number,
): { start: number; end: number; isQuoted: boolean } | null {
  OPENS.lastIndex = from;
  const [open = '', quote = ''] = OPENS.exec(text) ?? [];
  const start = from + open.length;
  if (quote !== '') {
    const closes = QUOTES[quote] as string;
    for (let at = start; at < text.length && at - start < VALUE_LENGTH; at += 1) {
      const sign = text[at] as string;
      if (sign === '\n') break;
      if (sign === '\\') at += 1;
      else if (closes.includes(sign)) {
        return at === start ? null : { start, end: at, isQuoted: true };
      }
    }
  }
  BARE.lastIndex = start;
  const [bare = ''] = BARE.exec(text) ?? [];
  if (bare.length > VALUE_LENGTH) return null;
  const isMarked = open.includes('*') || open.includes('__');
  const cut = WIDE.test(bare[0] ?? '') ? bare.length : bare.search(WIDE);
  const value = trimEnd(cut === -1 ? bare : bare.slice(0, cut), isMarked);
  return value === '' ? null : { start, end: start + value.length, isQuoted: isMarked };
}

function trimEnd(value: string, isMarked: boolean): string {
  let end = value.length;
  const signs = isMarked ? '.,;:)]}\'"’*_' : '.,;:)]}\'"’*';
  while (end > 0 && signs.includes(value[end - 1] as string)) end -= 1;
  return value.slice(0, end);
}

const PLACEHOLDER =
  /^(?:[<[{($%]|\*{2,}|x{3,}$|X{3,}$|•|…|\.{3}|_{3,}|-{2,}|process\.env|os\.environ|getenv|env[.:(]|ENV\[|config\.|settings\.|secrets?\.|vault[:/.]|op:\/\/|ref\+|arn:|file:|\/|\.\/|~\/|https?:|data:|your[-_ ]?|my[-_]?(?:password|secret|token|key)|example|placeholder|changeme|dummy|redacted|n\/a$|\w{1,30}\()/i;

/** Whether a value stands for one: `${DB_PASSWORD}`, `<password>`, `[secret]`, `process.env.KEY`. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** Names and figures that stand where a password may: programs, dates, times, sizes, versions. */
const NOT_SECRET =
  /^(?:1password|lastpass|bitwarden|keepass\w{0,4}|dashlane|nordpass|\d{1,4}[-./]\d{1,2}(?:[-./]\d{1,4})?(?:t[\d:.]+z?)?|\d{1,2}:\d\d(?::\d\d)?|\d+(?:[.,]\d+)?(?:%|€|\$|ms|s|min|h|d|kb|mb|gb|px|x|k|m|st|nd|rd|th|bit|bits|chars?|days?)?|v?\d+(?:\.\d+)+|q[1-4](?:\/\d+)?|[a-z]+\d?\/\d{2,4}|sha-?\d+|aes-?\d+(?:-[a-z]+)?|base64|utf-?8|rs\d{3}|es\d{3}|hs\d{3}|oauth2?|argon2(?:id|i|d)?|pbkdf2|ed25519|x25519|bcrypt|ipv[46])$/i;

/** Names of standards and models: `ISO27001`, `CL-100`. */
const STANDARD = /^[A-Z]{2,5}-?\d{1,5}$/;

/** Whether a value looks like a password: it mixes letters with digits or signs. */
export function isStrong(value: string, options?: { isSpoken: boolean } | number): boolean {
  const isSpoken = typeof options === 'object' && options.isSpoken;
  if (value.length < 5 || value.length > PASSWORD_LENGTH || isPlaceholder(value)) return false;
  const core = value.replace(/(?<![!?])[!?]{1,8}$/, '');
  if (STANDARD.test(core) || (NOT_SECRET.test(core) && !/^\d{6,12}$/.test(core))) return false;
  if (UUID.test(core) || /^[\w.+-]+@[\w-]+\.[\w.]+$/.test(core)) return false;
  const hasLetter = /\p{L}/u.test(core);
  const hasDigit = /\d/.test(core);
  const hasSign = /[!@#$%^&+=~?*;§]/.test(core);
  if (isSpoken) {
    // Right behind the word, as in `wifi password hunter2`.
    return (
      core.length >= 6 &&
      hasDigit &&
      hasLetter &&
      !/^[A-Z]{2,}\d+$/.test(core) &&
      !core.includes('/')
    );
  }
  if (!hasLetter)
    return hasDigit ? /^\d{6,12}$/.test(core) || (hasSign && core.length >= 6) : false;
  if (
    /^[a-z]+(?:\.[a-z]+)*\(/i.test(core) ||
    /^[\w.-]+\.(?:ts|js|py|md|json|ya?ml|pem|txt|env|com|org|net|io|dev)$/i.test(core)
  )
    return false;
  if (hasDigit || hasSign) return true;
  return countCaseChanges(core) >= 4 && value.length >= 8;
}

/** How often a text goes from a capital letter to a small one, or back. */
export function countCaseChanges(value: string): number {
  return (value.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g) ?? []).length;
}

const UUID = /^\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?$/i;

/** What is said of a password where the password itself could stand, in the languages of the words. */
const SAID: ReadonlySet<string> = new Set(
  'required optional hidden redacted masked unknown forgotten expired reset changed rotated stored default missing invalid incorrect correct wrong encrypted hashed disabled enabled empty string number boolean secret password private public shared personal manual monthly weekly quarterly yearly annually never always none null undefined false anything whatever pending later already confirmed updated removed deleted protected unchanged random generated strong important confidential internal erforderlich geändert vergessen unbekannt abgelaufen gespeichert optional geheim falsch richtig keines siehe pflichtfeld notwendig requis oublié inconnu expiré modifié changé obligatoire nécessaire facultatif caché requerida requerido olvidada olvidado desconocida desconocido caducada cambiada obligatoria obligatorio necesaria richiesta dimenticata sconosciuta scaduta cambiata obbligatoria segreta esquecida alterada desconhecida expirada obrigatória obrigatório vereist vergeten onbekend verlopen gewijzigd verplicht wymagane zapomniane nieznane zmienione wygasło обязателен забыт неизвестен изменён изменен истёк требуется hemligt glömt okänt ändrat gerekli unutuldu bilinmiyor değişti 未設定 不明 変更済み 必須 忘れた 必填 未知 已更改 忘记 필수 변경됨 unset bitwarden keepass lastpass dashlane keychain vault passkey passkeys biometric fingerprint touchid faceid'.split(
    ' ',
  ),
);

/** Whether a single word may be a password where it is all that is assigned: `Password: swordfish`. */
export function isWeakWord(value: string): boolean {
  if (value.length < 5 || value.length > 64 || isPlaceholder(value)) return false;
  const core = value.replace(/(?<![!?.])[!?.]{1,8}$/, '');
  if (SAID.has(core.toLowerCase()) || NOT_SECRET.test(core)) return false;
  return (
    /^[\p{L}\p{M}\d_-]{6,}$/u.test(core) ||
    (/[^\u0020-\u024f]/.test(core) && !/\s/.test(core) && core.length >= 4)
  );
}

const RANDOM = /^[A-Za-z0-9_+/=.~:%-]+$/;
const HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i;
const FILE_NAME =
  /\.(?:ts|js|mjs|py|md|json|ya?ml|pem|key|crt|txt|env|html?|com|org|net|io|dev|php|go|rs|java)$/i;

/** Whether a value has the entropy of a key: 16 characters or more, letters and digits mixed. */
export function isRandomLooking(value: string, { isHashOk }: { isHashOk: boolean }): boolean {
  if (value.length < 16 || value.length > VALUE_LENGTH || !RANDOM.test(value)) return false;
  if (UUID.test(value) || FILE_NAME.test(value) || isWordy(value)) return false;
  if (HASH.test(value)) return isHashOk;
  const hasLetter = /[A-Za-z]/.test(value);
  const isMixed = /\d/.test(value) || countCaseChanges(value) >= 5;
  return hasLetter && isMixed && entropyOf(value) >= 3;
}

/** Whether a shorter value may be a key: 8 characters or more, letters and digits mixed. */
export function isShortRandom(value: string): boolean {
  if (value.length < 8 || value.length >= 16 || !RANDOM.test(value)) return false;
  if (NOT_SECRET.test(value) || FILE_NAME.test(value) || isWordy(value)) return false;
  return /\d/.test(value) && /[A-Za-z]/.test(value) && new Set(value).size >= 5;
}

/** Whether a text is mostly made of words, as names of branches and files are. */
export function isWordy(text: string): boolean {
  const parts = text.split(/[-_./:+=~]+/);
  let words = 0;
  for (const part of parts) {
    if (/^(?:[A-Z]?[a-z]{1,14}|[A-Z]{2,10}|\d{1,4}|v\d{1,3})$/.test(part)) words += part.length;
  }
  return words >= 0.8 * (text.length - parts.length + 1);
}

/** Shannon entropy in bits for each character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const sign of text) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
