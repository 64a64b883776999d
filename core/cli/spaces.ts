import type { ListAnswer } from '../contracts/admin.ts';
import type { AdminSpace } from '../schemas/spaces.ts';
import { askAdminApi, JSON_FLAG, printAnswer } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { erase } from './erase.ts';
import { StartError } from './failure.ts';
import { askList } from './history/look.ts';
import { restore } from './history/restore.ts';
import { toColumns } from './history/text.ts';

/** `memory-service spaces list`: every space with its sizes. */
export const listSpaces: Command = {
  summary: 'List the spaces with their sizes and last use.',
  flags: { json: JSON_FLAG },
  async run(context) {
    const { items } = await askAdminApi(context, (api) =>
      askList<ListAnswer<AdminSpace>>(api, 'spaces', { query: {}, limit: Infinity }),
    );
    printAnswer(context, items, () =>
      items.length === 0 ? ['There are no spaces.'] : toRows(items),
    );
  },
};

/** `memory-service spaces create <spaceId>`: makes a space with its settings. */
export const createSpace: Command = {
  summary: 'Create a space.',
  argument: 'spaceId',
  flags: {
    name: { value: 'name', summary: 'For people.' },
    description: { value: 'text', summary: 'What it is for.' },
    quota: { value: 'n', summary: 'The most files (default: SERVICE_MAX_FILES_PER_USER).' },
    dream: { value: null, summary: 'Let dreaming work on it.' },
    'exclusive-paths': { value: null, summary: 'No file stands where a folder does.' },
    json: JSON_FLAG,
  },
  async run(context) {
    const space = await askAdminApi(context, (api) =>
      api.ask<AdminSpace>('POST', 'spaces', toRequest(context)),
    );
    printAnswer(context, space, () => [`The space ${space.spaceId} was created.`]);
  },
};

/** `memory-service spaces show <spaceId>`: the settings and figures of a space. */
export const showSpace: Command = {
  summary: 'Show the settings, sizes and last use of a space.',
  argument: 'spaceId',
  flags: { json: JSON_FLAG },
  async run(context) {
    const space = await askAdminApi(context, (api) => api.ask<AdminSpace>('GET', pathOf(context)));
    printAnswer(context, space, () => toColumns(toFields(space)));
  },
};

/** `memory-service spaces archive <spaceId>`: makes a space read-only, or writable again. */
export const archiveSpace: Command = {
  summary: 'Make a space read-only; with --undo, writable again.',
  argument: 'spaceId',
  flags: { undo: { value: null, summary: 'Make it writable again.' }, json: JSON_FLAG },
  async run(context) {
    const body = { archived: !context.flags.has('undo') };
    const space = await askAdminApi(context, (api) =>
      api.ask<AdminSpace>('POST', `${pathOf(context)}/archive`, body),
    );
    const now = body.archived ? 'read-only' : 'writable';
    printAnswer(context, space, () => [`The space ${space.spaceId} is ${now}.`]);
  },
};

/** `memory-service spaces erase <spaceId>`: as `memory-service erase --space <spaceId>`. */
export const eraseSpace: Command = ofSpace(erase, {
  summary: 'Show what erasing a space would remove; with --yes, erase the space.',
  without: ['users', 'spaces'],
});

/** `memory-service spaces restore <spaceId>`: as `memory-service restore --space <spaceId>`. */
export const restoreSpace: Command = ofSpace(restore, {
  summary: 'Make the memory of a space what it was at a time.',
  without: ['shared'],
});

/** A command that takes `--space`, for the space that is its argument. */
function ofSpace(
  command: Command,
  { summary, without }: { summary: string; without: readonly string[] },
): Command {
  const { isArgumentOptional: _, flags = {}, ...rest } = command;
  const kept = Object.entries(flags).filter(([name]) => ![...without, 'space'].includes(name));
  return {
    ...rest,
    summary,
    argument: 'spaceId',
    flags: Object.fromEntries(kept),
    run: (context) =>
      command.run({ ...context, flags: new Map([...context.flags, ['space', 'true']]) }),
  };
}

function pathOf({ argument }: CommandContext): string {
  return `spaces/${encodeURIComponent(argument ?? '')}`;
}

function toRequest({ argument, flags }: CommandContext): object {
  const quota = flags.get('quota');
  if (quota !== undefined && !/^\d{1,9}$/.test(quota)) {
    throw new StartError('--quota is a whole number.');
  }
  return {
    id: argument,
    name: flags.get('name'),
    description: flags.get('description'),
    quota: quota === undefined ? undefined : Number(quota),
    dream: flags.has('dream') ? true : undefined,
    exclusivePaths: flags.has('exclusive-paths') ? true : undefined,
  };
}

function toRows(items: ListAnswer<AdminSpace>['items']): string[] {
  return toColumns(
    items.map(({ spaceId, name, files, bytes, lastWriteAt, archivedAt }) => [
      spaceId,
      `${files} files`,
      `${bytes} bytes`,
      `written ${lastWriteAt ?? 'never'}`,
      ...(archivedAt === null ? [] : ['read-only']),
      ...(name === null ? [] : [name]),
    ]),
  );
}

function toFields(space: AdminSpace): [string, string][] {
  return Object.entries(space).map(([name, value]) => [
    name,
    typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '-'),
  ]);
}
