import { spawnSync } from 'node:child_process';

/** Whether this machine has git. */
export const HAS_GIT = spawnSync('git', ['--version']).status === 0;

/** How to run the tests that need git, for the line that names them as not run. */
export const GIT_TESTS =
  'needs git: npx vitest run test/core/archive/git.test.ts test/core/cli/export-git.test.ts';

/** Runs git in a folder, without the settings of this machine, and returns what it says. */
export function git(folder: string, args: readonly string[], input?: Uint8Array): string {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  const env = { ...Object.fromEntries(kept), GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C' };
  const { status, stdout, stderr } = spawnSync('git', ['-C', folder, ...args], { env, input });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr.toString()}`);
  return stdout.toString();
}
