import { loadConfig } from '../config/index.ts';
import type { AdminKey } from '../schemas/keys.ts';
import { withAdminApi } from './admin-api.ts';
import type { Command, CommandContext } from './command.ts';
import { StartError } from './failure.ts';
import { writeOutput } from './streams.ts';

type MadeKey = AdminKey & { key: string };

/** `memory-service keys`: lists the named keys of the tools API, makes one, rotates or revokes one. */
export const keys: Command = {
  summary: 'Named keys of the tools API: list them; --create, --rotate or --revoke one.',
  flags: {
    create: { value: 'name', summary: 'Make a key. It is printed this once.' },
    users: { value: 'list', summary: 'For these users: alice,acme:* (default: all).' },
    spaces: { value: 'list', summary: 'For these spaces: acme:write,docs:read (default: none).' },
    tools: { value: 'list', summary: 'For these tools: names, read or write (default: all).' },
    'calls-a-minute': { value: 'n', summary: 'By all instances together (default: no limit).' },
    actor: { value: 'name', summary: 'The actor of all its calls.' },
    manage: { value: null, summary: 'It may do what can’t be undone.' },
    expires: { value: 'time', summary: 'When it ends, as 2027-01-01T00:00:00.000Z.' },
    rotate: { value: 'id', summary: 'Make a new text for a key.' },
    'overlap-minutes': { value: 'n', summary: 'How long the old text stays valid; default 60.' },
    revoke: { value: 'id', summary: 'Refuse a key from now on.' },
    json: { value: null, summary: 'Print the answer as JSON.' },
  },
  run,
};

async function run(context: CommandContext): Promise<void> {
  const { flags } = context;
  const named = ['create', 'rotate', 'revoke'].filter((name) => flags.has(name));
  if (named.length > 1) throw new StartError('Name one of --create, --rotate and --revoke.');
  const loaded = await loadConfig(context);
  const [rotate, revoke] = [flags.get('rotate'), flags.get('revoke')];
  const answer = await withAdminApi<unknown>(loaded, async (api) => {
    if (flags.has('create')) return await api.ask<MadeKey>('POST', 'keys', toRequest(flags));
    if (revoke !== undefined) return await api.ask('DELETE', `keys/${encodeURIComponent(revoke)}`);
    if (rotate === undefined) return (await api.ask<{ items: AdminKey[] }>('GET', 'keys')).items;
    const path = `keys/${encodeURIComponent(rotate)}/rotate`;
    return await api.ask<MadeKey>('POST', path, rotationOf(flags));
  });
  if (flags.has('json')) return writeOutput(`${JSON.stringify(answer, null, 2)}\n`);
  if (Array.isArray(answer)) return writeOutput(toLines(answer as AdminKey[]));
  const { name, key } = answer as AdminKey & Partial<MadeKey>;
  writeOutput(key === undefined ? `${name} is revoked.\n` : `${key}\n`);
}

/** What `--overlap-minutes` says of a rotation. */
export function rotationOf(flags: CommandContext['flags']): { overlapMinutes?: number } {
  const overlap = flags.get('overlap-minutes');
  return overlap === undefined ? {} : { overlapMinutes: toNumber('overlap-minutes', overlap) };
}

function toRequest(flags: CommandContext['flags']): object {
  const list = (name: string) => {
    const value = flags.get(name);
    return value === undefined ? {} : { [name]: value.split(',').map((one) => one.trim()) };
  };
  const [rate, actor] = [flags.get('calls-a-minute'), flags.get('actor')];
  const expiresAt = flags.get('expires');
  return {
    name: flags.get('create'),
    ...list('users'),
    ...list('spaces'),
    ...list('tools'),
    ...(rate === undefined ? {} : { rateLimit: toNumber('calls-a-minute', rate) }),
    ...(actor === undefined ? {} : { actor }),
    ...(flags.has('manage') ? { manage: true } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function toNumber(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new StartError(`--${flag} is a whole number.`);
}

function toLines(items: readonly AdminKey[]): string {
  if (items.length === 0) return 'There are no named keys.\n';
  return items
    .map(({ id, name, users, tools, spaces, lastUsedAt }) => {
      const rules = [
        `users ${users?.join(',') ?? 'all'}`,
        `tools ${tools?.join(',') ?? 'all'}`,
        ...(spaces.length === 0 ? [] : [`spaces ${spaces.join(',')}`]),
      ];
      return `${name}: ${rules.join('; ')}; last used ${lastUsedAt ?? 'never'} (${id})\n`;
    })
    .join('');
}
