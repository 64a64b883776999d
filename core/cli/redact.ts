import { loadConfig } from '../config/index.ts';
import type { RedactAnswer } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { fileLines } from './file-lines.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service redact <revisionId>`: shows which revisions would lose content; with `--yes` it
 * takes the content out.
 */
export const redact: Command = {
  summary: 'Show which revisions a redaction changes; with --yes, take the content out.',
  flags: {
    yes: { value: null, summary: 'Take the content out. Nothing brings it back.' },
    before: { value: null, summary: 'Take out the content before the revision, not after it.' },
    reason: { value: 'text', summary: 'Why, for the audit.' },
    'remove-copies': {
      value: null,
      summary: 'Remove the copies of the database that the service made beside it, too.',
    },
    json: { value: null, summary: 'Print the answer as JSON.' },
  },
  argument: 'revisionId',
  run,
};

async function run(context: CommandContext): Promise<void> {
  const id = context.argument;
  if (id === null) throw new StartError('redact needs the id of a revision.');
  const loaded = await loadConfig(context);
  const reason = context.flags.get('reason') ?? 'redacted on the command line';
  const { flags } = context;
  const request = {
    reason,
    before: flags.has('before'),
    dryRun: !flags.has('yes'),
    removeCopies: flags.has('remove-copies'),
  };
  const answer = await workOnMemory<RedactAnswer>(loaded, {
    there: (server) => server.ask('POST', `revisions/${encodeURIComponent(id)}/redact`, request),
    here: ({ storage }) =>
      onCore(loaded, { storage }, (core) =>
        core.revisions.redact(id, request, { address: null, traceId: null }),
      ),
  });
  const text = flags.has('json') ? JSON.stringify(answer, null, 2) : toLines(answer).join('\n');
  writeOutput(`${text}\n`);
}

function toLines(answer: RedactAnswer): string[] {
  const { dryRun, unchanged, path, revisions, peers, mayRemain } = answer;
  return [
    unchanged
      ? `The content of this revision of ${path} is redacted already.`
      : `${dryRun ? 'Would redact' : 'Redacted'} ${path}:`,
    ...revisions.map(
      ({ id: each, version, loses }) =>
        `  version ${version} (${each}) loses the content ${loses === 'both' ? 'before and after it' : `${loses} it`}`,
    ),
    ...(peers.length === 0 ? [] : ['The same content is at the other path of a move; redact:']),
    ...peers.map((peer) => `  ${peer}`),
    ...fileLines(answer),
    'May remain elsewhere:',
    ...mayRemain.map((line) => `  ${line}`),
    ...(dryRun && !unchanged ? ['Nothing was changed. Run it again with --yes.'] : []),
  ];
}
