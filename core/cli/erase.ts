import { loadConfig } from '../config/index.ts';
import type { EraseAnswer } from '../contracts/admin.ts';
import { labelRows } from '../erase/row-labels.ts';
import { parseUserId } from '../files/paths.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { fileLines } from './file-lines.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service erase <userId>`: shows what an erasure of the user would remove; with `--yes` it
 * removes it, and prints the receipt.
 */
export const erase: Command = {
  summary: 'Show what erasing a user would remove; with --yes, erase the user.',
  flags: {
    space: { value: null, summary: 'The id is that of a space.' },
    yes: { value: null, summary: 'Erase the user. Nothing brings the memory back.' },
    'remove-copies': {
      value: null,
      summary: 'Remove the copies of the database that the service made beside it, too.',
    },
    json: { value: null, summary: 'Print the answer as JSON: with --yes, the receipt.' },
  },
  argument: 'userId',
  run,
};

async function run(context: CommandContext): Promise<void> {
  if (context.argument === null) throw new StartError('erase needs a user id.');
  const loaded = await loadConfig(context);
  const { flags } = context;
  const id = parseUserId(context.argument);
  const owner = flags.has('space') ? { spaceId: id } : { userId: id };
  const removeCopies = flags.has('remove-copies');
  const request = { confirm: id, dryRun: !flags.has('yes'), removeCopies };
  const answer = await workOnMemory<EraseAnswer>(loaded, {
    there: (server) =>
      server.ask(
        'POST',
        `${flags.has('space') ? 'spaces' : 'users'}/${encodeURIComponent(id)}/erase`,
        request,
      ),
    here: ({ storage }) =>
      onCore(loaded, { storage }, (core) => core.erasures.erase(owner, request, NOBODY)),
  });
  const isJson = flags.has('json');
  const text = isJson ? JSON.stringify(answer, null, 2) : toReceipt(answer).join('\n');
  writeOutput(`${text}\n`);
  if (!answer.dryRun && Object.keys(answer.left).length > 0) {
    throw new StartError('Rows of the user are left: see "left" in the receipt, and erase again.');
  }
}

function toReceipt(answer: EraseAnswer): string[] {
  const {
    dryRun,
    userId,
    spaceId,
    erasedAt,
    erasedBefore,
    tables,
    auditRows,
    left,
    chainHead,
    readers,
  } = answer;
  const whose = userId ?? `the space ${spaceId ?? ''}`;
  const rows = (counts: EraseAnswer['tables']) =>
    Object.entries(labelRows(counts)).map(([label, count]) => `  ${label.padEnd(33)}${count}`);
  return [
    dryRun ? `Would erase ${whose}:` : `Erased ${whose} at ${erasedAt ?? ''}:`,
    ...(erasedBefore === null
      ? []
      : [`It was erased before, at ${erasedBefore}: the audit has that receipt.`]),
    ...rows(tables),
    ...(dryRun ? [] : [`Replaced the user in ${auditRows} rows of the audit.`]),
    ...(dryRun
      ? []
      : [`Rows left: ${Object.keys(left).length === 0 ? 'none' : ''}`, ...rows(left)]),
    ...(chainHead === null ? [] : [`The history ended in ${chainHead}.`]),
    `Written by those who had read it${answer.readersComplete ? '' : ' (there may be more)'}:`,
    ...(readers.length === 0 ? ['  nothing'] : []),
    ...readers.map(({ path, probably }) => `  ${path}${probably ? ' (probably)' : ''}`),
    ...fileLines(answer),
    'Stays in the database:',
    ...answer.keeps.map((line) => `  ${line}`),
    'May remain elsewhere:',
    ...answer.mayRemain.map((line) => `  ${line}`),
    ...(dryRun ? ['Nothing was changed. Run it again with --yes to erase the user.'] : []),
  ];
}
