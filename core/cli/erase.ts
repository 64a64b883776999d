import { loadConfig } from '../config/index.ts';
import type { EraseAnswer, PrefixEraseAnswer } from '../contracts/admin.ts';
import { addErasePage } from '../erase/add-page.ts';
import { labelRows } from '../erase/row-labels.ts';
import { parseUserId } from '../files/paths.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { fileLines } from './file-lines.ts';
import { onCore } from './on-core.ts';
import { workOnMemory } from './open-memory.ts';
import { postPages } from './post-pages.ts';
import { NOBODY } from '../telemetry/audit.ts';
import { writeOutput } from './streams.ts';

/**
 * `memory-service erase <userId>`: shows what an erasure of the user would remove; with `--yes` it
 * removes it, and prints the receipt. With a prefix, `acme:*`, it is about all users and spaces whose
 * ids start so; then `--yes` goes with the numbers that it showed.
 */
export const erase: Command = {
  summary: 'Show what erasing a user, or all of acme:*, would remove; with --yes, erase it.',
  flags: {
    space: { value: null, summary: 'The id is that of a space.' },
    yes: { value: null, summary: 'Erase it. Nothing brings the memory back.' },
    users: { value: 'n', summary: 'With a prefix and --yes: how many users it showed.' },
    spaces: { value: 'n', summary: 'With a prefix and --yes: how many spaces it showed.' },
    'remove-copies': {
      value: null,
      summary: 'Remove the copies of the database that the service made beside it, too.',
    },
    json: { value: null, summary: 'Print the answer as JSON: with --yes, the receipt.' },
  },
  argument: 'id|prefix',
  run,
};

async function run(context: CommandContext): Promise<void> {
  if (context.argument === null) throw new StartError('erase needs an id or a prefix.');
  if (context.argument.endsWith('*')) return await eraseAll(context, context.argument);
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

/** Erases the users and spaces whose ids start alike, or shows which ones these are. */
async function eraseAll(context: CommandContext, prefix: string): Promise<void> {
  const { flags } = context;
  const loaded = await loadConfig(context);
  const body = flags.has('yes')
    ? {
        prefix,
        confirm: { prefix, users: toCount(flags, 'users'), spaces: toCount(flags, 'spaces') },
        removeCopies: flags.has('remove-copies'),
      }
    : { prefix, dryRun: true };
  const answer = await withAdminApi(loaded, (api) =>
    postPages<PrefixEraseAnswer>(
      api,
      { route: 'erase', body, toProgress: ({ progress }) => `${progress.done} users and spaces` },
      addErasePage,
    ),
  );
  const text = flags.has('json')
    ? JSON.stringify(answer, null, 2)
    : (answer.dryRun ? toPreview(answer) : answer.receipts.flatMap(toReceipt)).join('\n');
  writeOutput(`${text}\n`);
  if (answer.receipts.some(({ left }) => Object.keys(left).length > 0)) {
    throw new StartError('Rows are left: see "left" in the receipts, and erase again.');
  }
}

function toCount(flags: CommandContext['flags'], name: 'users' | 'spaces'): number {
  const text = flags.get(name) ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new StartError(`--${name} must be the number that the command shows without --yes.`);
}

function toPreview({ prefix, users, spaces, matches }: PrefixEraseAnswer): string[] {
  return [
    `Would erase ${users} users and ${spaces} spaces that match ${prefix}:`,
    ...matches.map(({ userId, spaceId, tables }) => {
      const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
      return `  ${userId ?? `the space ${spaceId ?? ''}`}: ${rows} rows`;
    }),
    `Nothing was changed. To erase them: --yes --users ${users} --spaces ${spaces}`,
  ];
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
    spaces,
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
    ...(spaces.length === 0 ? [] : ['What the user wrote in these spaces stays:']),
    ...spaces.map((id) => `  ${id}`),
    ...fileLines(answer),
    'Stays in the database:',
    ...answer.keeps.map((line) => `  ${line}`),
    'May remain elsewhere:',
    ...answer.mayRemain.map((line) => `  ${line}`),
    ...(dryRun ? ['Nothing was changed. Run it again with --yes to erase the user.'] : []),
  ];
}
