import { describe, expect, it } from 'vitest';
import { listSecrets, nameSecret } from '../../../core/screening/detect.ts';

const digits = (length: number) => '0123456789'.repeat(10).slice(0, length);
const JWT = `eyJhbGciOiJub25lIn0.eyJzdWIiOiIx${digits(4)}.sig`;

describe('a secret', () => {
  it.each([
    ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----'],
    ['an AWS access key', `AKIA${digits(16)}`],
    ['a GitHub token', `ghp_${digits(36)}`],
    ['a GitHub token', `github_pat_${digits(22)}_x`],
    ['a GitLab token', `glpat-${digits(20)}`],
    ['an npm token', `npm_${digits(36)}`],
    ['a Slack token', `xoxb-${digits(12)}-x`],
    ['a Google API key', `AIza${digits(35)}`],
    ['a Stripe key', `sk_live_${digits(24)}`],
    ['an API key', `sk-proj-${digits(20)}`],
    ['a JSON Web Token', JWT],
    ['a password in a URL', 'mysql://root:hunter22@db/memory'],
    ['a password or key', 'The Wi-Fi password is **hunter22**'],
  ])('that is %s is named, and listed', (name, secret) => {
    expect(nameSecret(`- It has ${secret} in it.`)).toBe(name);
    expect(listSecrets(secret)).not.toEqual([]);
  });

  it.each([
    'uses npm_config_user_agent',
    'the task is risk-assessment-of-suppliers',
    'a certificate: -----BEGIN CERTIFICATE-----',
    'reads https://example.org/a:b@c',
    'the secret is patience',
    `fixed in commit ${digits(40)}`,
  ])('is not named where there is none: %s', (text) => {
    expect(nameSecret(text)).toBeNull();
  });

  it('that may be one is listed all the same, so that it stays where it is', () => {
    expect(listSecrets('the PIN: 4711')).toEqual(['4711', 'PIN: 4711']);
    expect(listSecrets(`key ${digits(40)}`)).toEqual([digits(40)]);
    expect(listSecrets('- Prefers green tea.')).toEqual([]);
  });

  it('is another one when its end is another', () => {
    const [first] = listSecrets(`sk-${digits(20)}a`);
    const [second] = listSecrets(`sk-${digits(20)}b`);
    expect(first).not.toBe(second);
  });
});
