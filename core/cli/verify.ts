import { loadConfig } from '../config/index.ts';
import type { Verification } from '../contracts/admin.ts';
import { verifyMemory } from '../maintenance/verify.ts';
import { EXIT_FAILED } from './failure.ts';
import type { Command, CommandContext } from './command.ts';
import { withStorage, workOnMemory } from './open-memory.ts';
import { createProgress } from './running-server.ts';
import { writeOutput } from './streams.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * `memory-service verify`: checks that all acknowledged data is there, with or without a running
 * server, and changes nothing. Exits with code 1 if something is wrong.
 */
export const verify: Command = {
  summary: 'Look whether all that was acknowledged is there, and changes nothing.',
  flags: { json: { value: null, summary: 'Print what was found as JSON.' } },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const progress = createProgress('files');
  const verification = await workOnMemory<Verification>(loaded, {
    there: (server) => server.runJob('verify', { progress }),
    here: (config) =>
      withStorage(loaded, config, (storage) => {
        const days = loaded.values['retention.accessLogDays'];
        const accessLogSince = days > 0 ? Date.now() - days * DAY_MS : null;
        return verifyMemory(storage, { progress, accessLogSince });
      }),
  });
  const lines = context.flags.has('json')
    ? [JSON.stringify(verification, null, 2)]
    : toLines(verification);
  writeOutput(`${lines.join('\n')}\n`);
  if (verification.found > 0) process.exitCode = EXIT_FAILED;
}

function toLines(verification: Verification): string[] {
  const { findings, found, files, revisions, scopes, unchained, chainedSince } = verification;
  const { uncovered, coveredSince } = verification;
  const lines = findings.map(({ invariant, path, message }) =>
    path === null ? `${invariant}: ${message}` : `${invariant}: ${path} ${message}`,
  );
  if (found > findings.length) lines.push(`and ${found - findings.length} more`);
  const looked = `${files} files of ${scopes} scopes, ${revisions} revisions`;
  lines.push(found === 0 ? `Nothing is wrong: ${looked}.` : `${found} findings: ${looked}.`);
  if (chainedSince !== null) {
    lines.push(`Chained since ${chainedSince}: ${unchained} revisions are older, without a hash.`);
  }
  if (uncovered > 0) {
    lines.push(
      `The oldest text of ${uncovered} pruned files is under no hash. A running service adds it within an hour; for an imported memory, the next prune does.`,
    );
  }
  if (coveredSince !== null) {
    lines.push(
      `Since ${coveredSince} the oldest texts of all files that an older version pruned are under a hash; a change from before shows nowhere.`,
    );
  }
  return lines;
}
