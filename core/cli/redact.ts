import { loadConfig } from '../config/index.ts';
import type { RedactAnswer } from '../contracts/admin.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { fileLines } from './file-lines.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { redactText, toTextLines } from './redact-text.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service redact <revisionId>`: shows which revisions would lose content; with `--yes` it
 * takes the content out. With `--text`, or `--lines` of a revision, it does so with a text, wherever it
 * stands.
 */
export const redact: Command = {
  summary: 'Show what a redaction changes; with --yes, take the content or a text out.',
  flags: {
    yes: { value: null, summary: 'Take the content out. Nothing brings it back.' },
    before: { value: null, summary: 'Take out the content before the revision, not after it.' },
    text: { value: null, summary: 'Replace a text, which is read from standard input.' },
    lines: { value: 'n-m', summary: 'Replace the text of these lines of the revision.' },
    in: { value: 'where', summary: 'With --text or --lines: file, user or everywhere.' },
    user: { value: 'id', summary: 'With --in=user: the user.' },
    space: { value: 'id', summary: 'With --in=user: a space instead of a user.' },
    path: { value: 'path', summary: 'With --in=file: the physical path.' },
    replacement: { value: 'text', summary: 'What stands in its place; default [redacted].' },
    reason: { value: 'text', summary: 'Why, for the audit.' },
    'remove-copies': {
      value: null,
      summary: 'Remove the copies of the database that the service made beside it, too.',
    },
    json: { value: null, summary: 'Print the answer as JSON.' },
  },
  argument: 'revisionId',
  isArgumentOptional: true,
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { argument: id, flags } = context;
  if ((id === null) !== flags.has('text')) {
    throw new StartError('redact needs the id of a revision, or --text.');
  }
  const loaded = await loadConfig(context);
  if (id === null || flags.has('lines')) {
    const all = await redactText(loaded, { revisionId: id, flags });
    const shown = flags.has('json') ? JSON.stringify(all, null, 2) : toTextLines(all).join('\n');
    writeOutput(`${shown}\n`);
    return;
  }
  const reason = flags.get('reason') ?? 'redacted on the command line';
  const request = {
    reason,
    before: flags.has('before'),
    dryRun: !flags.has('yes'),
    removeCopies: flags.has('remove-copies'),
  };
  const answer = await workOnMemory<RedactAnswer>(loaded, {
    there: (server) => server.ask('POST', `revisions/${encodeURIComponent(id)}/redact`, request),
    here: ({ storage }) =>
      onCore(loaded, { storage }, (core) => core.revisions.redact(id, request, NOBODY)),
  });
  const text = flags.has('json') ? JSON.stringify(answer, null, 2) : toLines(answer).join('\n');
  writeOutput(`${text}\n`);
}

function toLines(answer: RedactAnswer): string[] {
  const { dryRun, unchanged, path, revisions, peers, alsoIn, mayRemain } = answer;
  return [
    unchanged
      ? `The content of this revision of ${path} is redacted already.`
      : `${dryRun ? 'Would redact' : 'Redacted'} ${path}:`,
    ...revisions.map(
      ({ id: each, version, loses }) =>
        `  version ${version} (${each}) loses the content ${loses === 'both' ? 'before and after it' : `${loses} it`}`,
    ),
    ...(alsoIn === 0
      ? []
      : [`${alsoIn} other versions have lines of it: redact those with --lines, or the text.`]),
    ...(peers.length === 0 ? [] : ['The same content is at the other path of a move; redact:']),
    ...peers.map((peer) => `  ${peer}`),
    ...fileLines(answer),
    'May remain elsewhere:',
    ...mayRemain.map((line) => `  ${line}`),
    ...(dryRun && !unchanged ? ['Nothing was changed. Run it again with --yes.'] : []),
  ];
}
