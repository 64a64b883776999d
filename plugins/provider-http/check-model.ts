import { toFault } from './fault.ts';

/**
 * Whether a server lists a model. `false` also where it has no list, or the key may not read it: a key
 * may be allowed to ask the model alone. Rejects with every other failure.
 */
export async function isListed(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch (error) {
    const { reason, status } = toFault(error);
    const saysNothing = ['rejected', 'malformed', 'empty', 'too_large'].includes(reason);
    if (saysNothing || status === 403) return false;
    throw error;
  }
}
