/** The actor of what an operator does. */
export const OPERATOR_ACTOR = 'admin';
/** The actor of what an import writes. */
export const IMPORT_ACTOR = 'import';
/** The actor of what a mounted folder writes, for the operator who mounts it. */
export const FOLDER_ACTOR = 'folder';
/** The actor of the questions of checks. They leave no access row. */
export const CHECK_ACTOR = 'check';

/** Actors that only the service itself uses. */
export const SERVICE_ACTORS: ReadonlySet<string> = new Set([
  OPERATOR_ACTOR,
  'dream-agent',
  'filing-agent',
  IMPORT_ACTOR,
  'playground',
  FOLDER_ACTOR,
  CHECK_ACTOR,
]);

/** Whether an actor is the service itself or an operator, and so no agent that uses memory. */
export function isServiceActor(actor: string): boolean {
  return SERVICE_ACTORS.has(actor);
}
