import { type Finding, type Policy, withoutOverlaps } from './finding.ts';
import { findEmbeddedPasswords, findNamedValues } from './named-values.ts';
import { findCards, findIbans } from './numbers.ts';
import { findPersonal } from './personal.ts';
import { findPrivateKeys, findTokens } from './tokens.ts';

/** A detector of one's own, in linear time for any text. */
export interface Detector {
  policy: Policy;
  find(text: string): readonly Finding[];
}

/**
 * Finds what must not be stored: keys and tokens by their form, or by their randomness behind a word
 * such as `api key`, passwords, private keys, cards, IBANs; of `personal` national ids, e-mail addresses and
 * phone numbers. Takes linear time for any text. Findings are in order and don't overlap.
 */
export function detect(
  text: string,
  policies: ReadonlySet<Policy>,
  detectors: readonly Detector[] = [],
): Finding[] {
  const plain = toPlain(text);
  const findings = policies.has('secrets') ? findSecrets(plain) : [];
  if (policies.has('personal')) push(findings, findPersonal(plain));
  for (const { policy, find } of detectors) if (policies.has(policy)) push(findings, find(text));
  return withoutOverlaps(findings);
}

function findSecrets(text: string): Finding[] {
  const findings = findPrivateKeys(text);
  push(findings, findTokens(text));
  push(findings, findCutOff(text, findings));
  if (/\d{4}/.test(text)) {
    push(findings, findCards(text));
    push(findings, findIbans(text));
  } else if (/\d\d/.test(text)) push(findings, findIbans(text));
  push(findings, findEmbeddedPasswords(text));
  push(findings, findNamedValues(text));
  return findings;
}

function push(findings: Finding[], more: readonly Finding[]): void {
  for (const finding of more) findings.push(finding);
}

/** The zeros of Arabic, Persian, Hindi and full-width digits. */
const ZEROS = [0x660, 0x6f0, 0x966, 0xff10];

/** The same text with digits of other scripts as ASCII, at the same offsets. */
function toPlain(text: string): string {
  return text.replaceAll(/[٠-٩۰-۹०-९０-９]/g, (digit) => {
    const code = digit.charCodeAt(0);
    const zero = ZEROS.findLast((each) => each <= code) ?? code;
    return String(code - zero);
  });
}

/** The end of a line that a longer text may go on from, and the start of the next one. */
const TAIL = /[A-Za-z0-9_+/=.~-]{1,200}(?=[ \t]?[\\"'`]?(?: ?\+)?[ \t]*$)/;
const HEAD = /^[ \t>]*["'`]?([A-Za-z0-9_+/=.~-]{4,4096})/;
const DIGITS_TAIL = /(?:\d[ -]?){4,18}[ \t]*$/;
const DIGITS_HEAD = /^[ \t>]*((?:\d[ -]?){4,18})(?![\d\p{L}])/u;
const WRAPPED_LINES = 4;

/** Finds tokens and cards that a line end cuts in two. */
function findCutOff(text: string, whole: readonly Finding[]): Finding[] {
  if (!text.includes('\n')) return [];
  const findings: Finding[] = [];
  let lineStart = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', lineStart)) {
    const start = lineStart;
    lineStart = end + 1;
    const last = text.charCodeAt(end - 1);
    // Most lines end with a word or a mark that begins no token.
    if (end === start || last === 0x2e || lineStart >= text.length) continue;
    const line = text.slice(Math.max(start, end - 260), text[end - 1] === '\r' ? end - 1 : end);
    const offset = Math.max(start, end - 260);
    const found =
      findCutToken(text, { line, offset, next: lineStart, whole }) ??
      findCutCard(text, { line, offset, next: lineStart });
    if (found !== null) findings.push(found);
  }
  return findings;
}

interface Cut {
  /** The end of the line, and its offset. */
  line: string;
  offset: number;
  /** The offset of the next line. */
  next: number;
}

function findCutToken(
  text: string,
  { line, offset, next, whole }: Cut & { whole: readonly Finding[] },
): Finding | null {
  const tail = TAIL.exec(line);
  if (tail === null) return null;
  const tailStart = offset + tail.index;
  let joined = tail[0];
  const ends: { joinedTo: number; textTo: number }[] = [];
  let at = next;
  for (let lines = 0; lines < WRAPPED_LINES && at < text.length; lines += 1) {
    const lineEnd = text.indexOf('\n', at);
    const to = lineEnd === -1 ? text.length : lineEnd;
    const rest = text.slice(at, Math.min(to, at + 4_200));
    const head = HEAD.exec(rest);
    if (head === null) break;
    const [through = '', run = ''] = head;
    joined += run;
    ends.push({ joinedTo: joined.length, textTo: at + through.length });
    // It goes on only from a line that is nothing else.
    if (!/^["'`\\+ \t\r]*$/.test(rest.slice(through.length))) break;
    at = to + 1;
  }
  if (ends.length === 0) return null;
  const [found] = findTokens(joined).filter(({ end }) => end > tail[0].length);
  if (found === undefined || found.start >= tail[0].length) return null;
  const start = tailStart + found.start;
  const alone = whole.find((one) => one.start === start);
  // The token is whole in its line, unless the next line is more of the same.
  if (alone !== undefined && !isMore(joined.slice(tail[0].length, ends[0]?.joinedTo))) return null;
  // The next line begins with another token.
  if (whole.some((one) => one.start >= next && one.start <= (ends[0]?.textTo ?? next))) return null;
  const end = ends.find(({ joinedTo }) => joinedTo >= found.end);
  if (end === undefined) return null;
  return { ...found, start, end: end.textTo - (end.joinedTo - found.end) };
}

function isMore(run: string): boolean {
  return run.length >= 8 && /\d/.test(run) && /[A-Za-z]/.test(run);
}

function findCutCard(text: string, { line, offset, next }: Cut): Finding | null {
  const tail = DIGITS_TAIL.exec(line);
  if (tail === null) return null;
  // eslint-disable-next-line texts/take -- digits alone are looked for
  const head = DIGITS_HEAD.exec(text.slice(next, next + 60));
  if (head === null) return null;
  const [through = '', digits = ''] = head;
  const joined = `${tail[0].trimEnd()} ${digits.trimEnd()}`;
  const [found] = findCards(joined);
  const compact = found ?? findCards(joined.replaceAll(/\D/g, ''))[0];
  if (compact === undefined) return null;
  return { ...compact, start: offset + tail.index, end: next + through.trimEnd().length };
}

/** The kinds that open something: they are shown to no model, whatever the policies are. */
const CREDENTIALS: ReadonlySet<string> = new Set(['private_key', 'token', 'key', 'password']);
const SECRETS: ReadonlySet<Policy> = new Set(['secrets']);

/** What a text that holds a key or a password looks like, as in `a GitHub token`; `null` for others. */
export function nameSecret(text: string): string | null {
  return detect(text, SECRETS).find(({ kind }) => CREDENTIALS.has(kind))?.name ?? null;
}

/**
 * What may be a secret and may be something else, such as the id of a commit, or "the secret is
 * patience": enough to leave a line where it is, too little to tell someone that it is one.
 */
const SUSPICIONS: readonly RegExp[] = [
  /\b(?:password|passwd|passphrase|secret|token|api[ _-]?key|pin|passwort|contraseña)\b\s{0,3}(?:[:=]|is)\s{0,3}\S{4,}/gi,
  /\b[0-9a-f]{32,}\b/gi,
  // `STRIPE_KEY=…`, `db_password: …`
  /(?<![\p{L}\p{N}_-])(?:[\p{L}\d]{1,30}[_-]){0,6}(?:key|token|secret|password|passwd|pwd|pass)[*_`"']{0,3}\s{0,3}[=:]\s{0,3}[*_`"']{0,3}[^\s*`"']{4,}/giu,
  // `alarm code 4711`, `Türcode: 12 34`, `暗証番号は1234`
  /(?:(?<!\p{L})\p{L}{0,12}(?:codes?|kode|koda?|kod|código|codice|pin|geheimzahl|contraseña|clave|senha|mot de passe|hasło|wachtwoord|lösenord|şifre\p{L}{0,4}|пароль|код)(?!\p{L})|密码|密碼|暗証番号|パスワード|비밀번호|암호|كلمة السر|كلمة المرور|رمز)[^\n\p{L}\d]{0,6}(?:is|ist|est|es|è|är|er|to|lautet|это|は|是|为|은|는|هو|هي)?[^\n\p{L}\d]{0,4}\d[\d -]{2,12}\d/giu,
];

/** Every part of a text that is a secret, or may be one. */
export function listSecrets(text: string): string[] {
  const found = detect(text, SECRETS).map(({ start, end }) => text.slice(start, end));
  const suspected = SUSPICIONS.flatMap((pattern) => text.match(pattern) ?? []);
  return [...new Set([...found, ...suspected])];
}
