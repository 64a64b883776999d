import type { Finding } from './finding.ts';
import { countCaseChanges, isWordy } from './value-looks.ts';

/** Keys and tokens that have a form of their own. Every form is bounded, so that any text takes linear time. */
const FORMS: readonly { name: string; form: string }[] = [
  { name: 'a private key', form: 'AGE-SECRET-KEY-1[0-9A-Z]{50,70}' },
  { name: 'an AWS access key', form: '(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,16}' },
  { name: 'a GitHub token', form: '(?:gh[opsur]|github_pat)_\\w{16,255}' },
  { name: 'a GitLab token', form: 'gl(?:pat|dt|rt|cbt|ptt|soat|ft|oas)-[\\w-]{16,100}' },
  { name: 'an npm token', form: 'npm_[A-Za-z0-9]{30,60}' },
  { name: 'a Slack token', form: 'xox[abeoprs]-[\\w-]{10,250}' },
  { name: 'a Slack token', form: 'xapp-\\d-[\\w-]{10,250}' },
  { name: 'a Slack webhook', form: 'hooks\\.slack\\.com/services/\\w{6,20}/\\w{6,20}/\\w{16,40}' },
  {
    name: 'a Discord webhook',
    form: 'discord(?:app)?\\.com/api/webhooks/\\d{10,25}/[\\w-]{40,100}',
  },
  { name: 'a Discord token', form: '[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,45}' },
  { name: 'a Google API key', form: 'AIza[\\w-]{30,45}' },
  { name: 'a Google token', form: '(?:ya29\\.|GOCSPX-|1//0)[\\w-]{20,250}' },
  { name: 'a Stripe key', form: '[rs]k_(?:live|test)_\\w{16,250}' },
  { name: 'a Stripe key', form: 'whsec_[\\w+/=]{20,100}' },
  { name: 'a SendGrid key', form: 'SG\\.[\\w-]{16,40}\\.[\\w-]{16,60}' },
  { name: 'a Telegram token', form: '\\d{8,10}:AA[\\w-]{32,35}' },
  { name: 'a key of this service', form: 'ms[ko]_[0-9a-f]{16}_[\\w-]{30,60}' },
  {
    name: 'an API key',
    form: '(?:hf_|r8_|gsk_|shp(?:at|ca|ss|pa)_|dop_v1_|doo_v1_|lin_api_|ntn_|figd_|dckr_pat_|sntry[su]_|glsa_|glc_|sbp_|nfp_|pscale_(?:tkn|pw|oauth)_|rubygems_|tfp_|phc_|pk_live_|rnd_|fly_|vercel_|hvs\\.|hvb\\.|dp\\.pt\\.|pypi-|pplx-|xai-|PMAK-|NRAK-|NRII-|ATATT3x|ATCTT3x|SK|key-|dapi|sq0csp-|sq0atp-|EAAA|AGPA)[\\w=-]{20,250}',
  },
  { name: 'an API key', form: 'sk-[\\w-]{16,250}' },
  { name: 'a JSON Web Token', form: 'eyJ[\\w-]{8,4000}\\.[\\w-]{8,8000}(?:\\.[\\w-]{0,1000})?' },
];

/** What the forms begin with, and the dots of a Discord token: most texts have none of it. */
const TRIGGER =
  /AKIA|ASIA|ABIA|ACCA|gho_|ghp_|ghs_|ghu_|ghr_|github_pat_|glpat-|gldt-|glrt-|glcbt-|glptt-|glsoat-|glft-|gloas-|npm_|xoxa-|xoxb-|xoxe-|xoxo-|xoxp-|xoxr-|xoxs-|xapp-|hooks\.slack|\/api\/webhooks|AIza|ya29\.|GOCSPX-|1\/\/0|k_live_|k_test_|whsec_|SG\.|:AA|msk_|mso_|hf_|r8_|gsk_|shp|dop_v1|doo_v1|lin_api|ntn_|figd_|dckr_|sntry|glsa_|glc_|sbp_|nfp_|pscale_|rubygems_|tfp_|phc_|rnd_|fly_|vercel_|pypi-|pplx-|xai-|PMAK-|NRAK-|NRII-|key-|sq0|sk-|hvs\.|hvb\.|dp\.pt|ATATT3x|ATCTT3x|SK|dapi|EAAA|AGPA|eyJ|AGE-SECRET|\.[\w-]{6}\./;

const BEFORE = '(?<![A-Za-z0-9_-])';
const AFTER = '(?![A-Za-z0-9])';
const PATTERN = new RegExp(FORMS.map(({ form }) => `${BEFORE}(${form})${AFTER}`).join('|'), 'g');

/** Words such as `risk-assessment` or `sk-learn-extra` have no digit; the AWS and PEM forms may have none. */
function isRandom(token: string): boolean {
  if (/^(?:AKIA|ASIA|ABIA|ACCA)/.test(token)) return token.length >= 16;
  if (/^hf_/.test(token)) return /[a-z]/.test(token) && /[A-Z]/.test(token);
  if (/^(?:SK|key-|dapi)/.test(token)) return /^(?:SK|key-|dapi)[0-9a-f]{32}/.test(token);
  return (/\d/.test(token) || countCaseChanges(token) >= 4) && !isWordy(token);
}

/** Finds keys and tokens by their form alone. */
export function findTokens(text: string): Finding[] {
  if (!TRIGGER.test(text)) return [];
  const findings: Finding[] = [];
  for (const match of text.matchAll(PATTERN)) {
    const [token] = match;
    if (!isRandom(token)) continue;
    const at = match.findIndex((group, index) => index > 0 && group !== undefined);
    const { name } = FORMS[at - 1] as (typeof FORMS)[number];
    const { index } = match;
    findings.push({
      kind: 'token',
      name,
      policy: 'secrets',
      start: index,
      end: index + token.length,
    });
  }
  return findings;
}

const KEY_BEGIN =
  /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?|PuTTY-User-Key-File-\d/g;
const KEY_END =
  /-----END (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?(?:-{5})?|Private-MAC: ?\w+/g;
const KEY_LENGTH = 16_384;

/** Finds private keys as blocks, also where the end is missing. */
export function findPrivateKeys(text: string): Finding[] {
  if (!text.includes('-----BEGIN ') && !text.includes('PuTTY-User-Key')) return [];
  const findings: Finding[] = [];
  let close: RegExpExecArray | null = null;
  let hasClose = true;
  KEY_BEGIN.lastIndex = 0;
  for (let begin = KEY_BEGIN.exec(text); begin !== null; begin = KEY_BEGIN.exec(text)) {
    const start = begin.index;
    const from = start + begin[0].length;
    // Looked for once for all blocks before it.
    if (hasClose && (close?.index ?? -1) < from) {
      KEY_END.lastIndex = from;
      close = KEY_END.exec(text);
      hasClose = close !== null;
    }
    const isClosed = close !== null && close.index - start <= KEY_LENGTH;
    const end = close !== null && isClosed ? close.index + close[0].length : endOfBody(text, from);
    findings.push({ kind: 'private_key', name: 'a private key', policy: 'secrets', start, end });
    KEY_BEGIN.lastIndex = end;
  }
  return findings;
}

/** Lines of base64 that follow the first line; a line with a space is prose again. */
function endOfBody(text: string, from: number): number {
  let end = text.indexOf('\n', from);
  if (end === -1) end = text.length;
  if (end - from > KEY_LENGTH) return from;
  while (end < text.length && end - from < KEY_LENGTH) {
    const next = text.indexOf('\n', end + 1);
    const line = text.slice(end + 1, next === -1 ? text.length : next).trim();
    if (line === '' || !/^(?:> ?)?[A-Za-z0-9+/=]{8,}$/.test(line)) break;
    end = next === -1 ? text.length : next;
  }
  return end;
}
