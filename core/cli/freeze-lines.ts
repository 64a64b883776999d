import type { AdminFreeze } from '../schemas/freezes.ts';
import type { RunningServer } from './running-server.ts';

/** The freezes in force. */
export async function listFreezes(api: RunningServer): Promise<AdminFreeze[]> {
  return (await api.ask<{ items: AdminFreeze[] }>('GET', 'freezes')).items;
}

/** A freeze as a line of text. */
export function toFreezeLine({ id, userId, actor, keyId, until, reason }: AdminFreeze): string {
  const whose =
    userId !== null
      ? `Writes for user ${userId} are`
      : actor !== null
        ? `Writes by actor ${actor} are`
        : keyId !== null
          ? `Writes with the key ${keyId} are`
          : 'All writes are';
  return `${whose} stopped until ${until}: ${reason} (${id})`;
}
