import { hash, timingSafeEqual } from 'node:crypto';

/** Whether the presented text is one of the secrets. */
export type SecretCheck = (presented: string) => boolean;

/**
 * Compares the hashes of all secrets in constant time, so that the time reveals neither a secret's
 * length, nor how much of it was right, nor which one matched. `null` if no secret is set; blank
 * ones don't count.
 */
export function createSecretCheck(secrets: readonly (string | null)[]): SecretCheck | null {
  const hashes = secrets
    .filter((secret) => secret !== null && secret.trim() !== '')
    .map((secret) => digest(Buffer.from(secret as string, 'utf8')));
  if (hashes.length === 0) return null;
  return (presented) => {
    // Node decodes header bytes as Latin-1; the secret is UTF-8.
    const candidate = digest(Buffer.from(presented, 'latin1'));
    let isSame = false;
    for (const expected of hashes) isSame = timingSafeEqual(candidate, expected) || isSame;
    return isSame;
  };
}

function digest(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer');
}
