/** The actor of what an operator does. */
export const OPERATOR_ACTOR = 'admin';
/** The actor of what an import writes. */
export const IMPORT_ACTOR = 'import';

/** Actors that only the service itself uses. */
export const SERVICE_ACTORS: ReadonlySet<string> = new Set([
  OPERATOR_ACTOR,
  'dream-agent',
  'filing-agent',
  IMPORT_ACTOR,
  'playground',
]);

/** Whether an actor is the service itself or an operator, and so no agent that uses memory. */
export function isServiceActor(actor: string): boolean {
  return SERVICE_ACTORS.has(actor);
}
