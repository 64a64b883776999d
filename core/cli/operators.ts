import type { AdminOperator } from '../schemas/keys.ts';
import { askAdminApi, JSON_FLAG, printAnswer } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { toColumns } from './history/text.ts';
import { rotationOf } from './keys.ts';

type MadeOperator = AdminOperator & { token: string };

/** `memory-service operators list`: the named operators, without their tokens. */
export const listOperators: Command = {
  summary: 'List the named operators of the admin API.',
  flags: { json: JSON_FLAG },
  async run(context) {
    const { items } = await askAdminApi(context, (api) =>
      api.ask<{ items: AdminOperator[] }>('GET', 'operators'),
    );
    printAnswer(context, items, () =>
      items.length === 0 ? ['There are no named operators.'] : toColumns(items.map(toRow)),
    );
  },
};

/** `memory-service operators create <name> --role=…`: makes an operator, and prints the token once. */
export const createOperator: Command = {
  summary: 'Make an operator, and print the token this once.',
  argument: 'name',
  flags: {
    role: { value: 'role', summary: 'viewer, operator or admin.' },
    contents: { value: null, summary: 'A viewer who sees contents, too.' },
    json: JSON_FLAG,
  },
  async run(context) {
    const { argument, flags } = context;
    const role = flags.get('role');
    if (role === undefined) throw new StartError('--role is viewer, operator or admin.');
    const body = { name: argument, role, contents: flags.has('contents') ? true : undefined };
    const made = await askAdminApi(context, (api) =>
      api.ask<MadeOperator>('POST', 'operators', body),
    );
    printAnswer(context, made, () => [made.token]);
  },
};

/** `memory-service operators rotate <id>`: makes a new token, and prints it once. */
export const rotateOperator: Command = {
  summary: 'Make a new token for an operator, and print it this once.',
  argument: 'id',
  flags: {
    'overlap-minutes': { value: 'n', summary: 'How long the old one stays valid; default 60.' },
    json: JSON_FLAG,
  },
  async run(context) {
    const body = rotationOf(context.flags);
    const made = await askAdminApi(context, (api) =>
      api.ask<MadeOperator>('POST', `${pathOf(context)}/rotate`, body),
    );
    printAnswer(context, made, () => [made.token]);
  },
};

/** `memory-service operators revoke <id>`: refuses the token of an operator from now on. */
export const revokeOperator: Command = {
  summary: 'Refuse the token of an operator from now on.',
  argument: 'id',
  flags: { json: JSON_FLAG },
  async run(context) {
    const gone = await askAdminApi(context, (api) =>
      api.ask<AdminOperator>('DELETE', pathOf(context)),
    );
    printAnswer(context, gone, () => [`${gone.name} is revoked.`]);
  },
};

function pathOf({ argument }: CommandContext): string {
  return `operators/${encodeURIComponent(argument ?? '')}`;
}

function toRow({ id, name, role, contents, lastUsedAt }: AdminOperator): string[] {
  const sees = role === 'viewer' && contents ? `${role} with contents` : role;
  return [name, sees, `last used ${lastUsedAt ?? 'never'}`, `(${id})`];
}
