/** Forms of secrets, each told apart by its own beginning. */
const FORMS: readonly { name: string; pattern: RegExp }[] = [
  { name: 'a private key', pattern: /-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY/g },
  { name: 'an AWS access key', pattern: /\b(?:AKIA|ASIA)[0-9A-Z]{12,}/g },
  { name: 'a GitHub token', pattern: /\b(?:gh[opsur]|github_pat)_\w{16,}/g },
  { name: 'a GitLab token', pattern: /\bglpat-[\w-]{16,}/g },
  { name: 'an npm token', pattern: /\bnpm_[A-Za-z0-9]{30,}/g },
  { name: 'a Slack token', pattern: /\bxox[abeoprs]-[\w-]{10,}/g },
  { name: 'a Google API key', pattern: /\bAIza[\w-]{30,}/g },
  { name: 'a Stripe key', pattern: /\b[rs]k_live_\w{16,}/g },
  { name: 'an API key', pattern: /\bsk-[\w-]{16,}/g },
  { name: 'a JSON Web Token', pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}/g },
  {
    name: 'a password in a URL',
    pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{1,64}:[^\s/@]{4,128}@/gi,
  },
  {
    name: 'a password or key',
    pattern:
      /\b(?:password|passwd|passphrase|passwort|contraseña|secret|api[ _-]?key|access[ _-]?token|pin code)\b[*_`"']{0,3} ?(?:is|[:=]) ?[*_`"']{0,3}(?=\S{0,40}\d)\S{6,}/gi,
  },
];

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

/** What a text that looks like a secret looks like, as in `a GitHub token`; `null` for others. */
export function nameSecret(text: string): string | null {
  return FORMS.find(({ pattern }) => text.search(pattern) !== -1)?.name ?? null;
}

/** Every part of a text that is a secret, or may be one. */
export function listSecrets(text: string): string[] {
  const patterns = [...FORMS.map(({ pattern }) => pattern), ...SUSPICIONS];
  return [...new Set(patterns.flatMap((pattern) => text.match(pattern) ?? []))];
}
