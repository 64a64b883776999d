import type { AdminFreeze } from '../schemas/freezes.ts';
import type { RunningServer } from './running-server.ts';

/** The flags of which one says whose writes are stopped. */
export const FREEZE_TARGETS = ['user', 'space', 'actor', 'key', 'all'];

/** The freezes in force. */
export async function listFreezes(api: RunningServer): Promise<AdminFreeze[]> {
  return (await api.ask<{ items: AdminFreeze[] }>('GET', 'freezes')).items;
}

/** A freeze as a line of text. */
export function toFreezeLine(freeze: AdminFreeze): string {
  const { id, until, reason } = freeze;
  return `${toWhose(freeze)} are stopped until ${until}: ${reason} (${id})`;
}

function toWhose({ userId, spaceId, actor, keyId }: AdminFreeze): string {
  if (userId !== null) return `Writes for user ${userId}`;
  if (spaceId !== null) return `Writes to the space ${spaceId}`;
  if (actor !== null) return `Writes by actor ${actor}`;
  return keyId === null ? 'All writes' : `Writes with the key ${keyId}`;
}
