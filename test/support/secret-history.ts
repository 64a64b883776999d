import type { Core } from '../../core/service.ts';
import { call } from './service.ts';
import { seededRandom } from './workload.ts';

/** Random letters: no two pieces of it are the same, and none stands anywhere by chance. */
export const SECRET = 'Qzvxwkjhrtplmgbdnfcsyaeiou';
/** Whose memory has the secret. */
export const VICTIM = 'user-0';

/** What stands in the contents of the others, and around the secret. */
const WORDS = 'tea coffee heron pond invoice supplier garden yoga winter train lamp'.split(' ');
const USERS = 6;
const FILES = 24;
/** The most lines of a content: rows of all sizes move between pages in other ways. */
const LINES = [8, 16, 24];

/**
 * Writes a random history of several users. Many versions of one user's files contain the secret. Rows
 * are added and removed beside them, so that they move between pages. Returns the revisions with the
 * secret. Unless the secret is kept, the newest version of each file does not contain it.
 */
export async function writeSecretHistory(
  core: Core,
  { seed, isSecretKept, steps = 300 }: { seed: number; isSecretKept: boolean; steps?: number },
): Promise<string[]> {
  const random = seededRandom(seed);
  const pick = (choices: number) => Math.floor(random() * choices);
  const textOf = (hasSecret: boolean) => {
    const lines = Array.from({ length: 1 + pick(LINES[pick(LINES.length)] ?? 1) }, () =>
      Array.from({ length: 1 + pick(12) }, () => WORDS[pick(WORDS.length)]).join(' '),
    );
    for (let left = hasSecret ? 1 + pick(4) : 0; left > 0; left -= 1) {
      lines.splice(pick(lines.length), 0, `- ${SECRET}`);
    }
    return `${lines.join('\n')}\n`;
  };
  const secret: string[] = [];
  for (let step = 0; step < steps; step += 1) {
    const userId = `user-${pick(USERS)}`;
    const hasSecret = userId === VICTIM && pick(3) > 0;
    const args = { path: `user/${pick(FILES)}.md`, content: textOf(hasSecret) };
    const { result } = await call(core, userId, 'memory_write', args);
    if (hasSecret) secret.push(String(result['revisionId']));
    if (pick(9) === 0) await call(core, userId, 'memory_delete', { path: args.path });
    if (pick(20) === 0) await call(core, userId, 'memory_find', { query: WORDS[pick(11)] ?? '' });
    if (pick(40) === 0) await core.indexer.drain();
  }
  if (!isSecretKept) {
    for (let file = 0; file < FILES; file += 1) {
      const args = { path: `user/${file}.md`, content: textOf(false) };
      await call(core, VICTIM, 'memory_write', args);
    }
  }
  await core.indexer.drain();
  await core.queue.flush();
  return secret;
}
