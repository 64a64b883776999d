/** Forms of secrets, each told apart by its own beginning. */
const FORMS: readonly { name: string; pattern: RegExp }[] = [
  { name: 'a private key', pattern: /-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY/ },
  { name: 'an AWS access key', pattern: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/ },
  { name: 'a GitHub token', pattern: /\b(?:gh[pousr]_\w{36}|github_pat_\w{30})/ },
  { name: 'a GitLab token', pattern: /\bglpat-[\w-]{20}/ },
  { name: 'a Slack token', pattern: /\bxox[abeoprs]-[\w-]{10}/ },
  { name: 'a Google API key', pattern: /\bAIza[\w-]{35}/ },
  { name: 'a Stripe key', pattern: /\b[rs]k_live_\w{16}/ },
  { name: 'an API key', pattern: /\bsk-[\w-]{20}/ },
  { name: 'a JSON Web Token', pattern: /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\./ },
  {
    name: 'a password in a URL',
    pattern: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{1,64}:[^\s/@]{4,128}@/i,
  },
  {
    name: 'a password or key',
    pattern:
      /\b(?:password|passphrase|passwort|secret|api[ _-]?key|access[ _-]?token|pin code)\b[*_`"']{0,3} ?(?:is|[:=]) ?[*_`"']{0,3}(?=\S{0,40}\d)\S{6,}/i,
  },
];

/** What a text that looks like a secret looks like, as in `a GitHub token`; `null` for others. */
export function nameSecret(text: string): string | null {
  return FORMS.find(({ pattern }) => pattern.test(text))?.name ?? null;
}
