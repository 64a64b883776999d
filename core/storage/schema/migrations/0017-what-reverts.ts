import { column, type Migration } from '../migration.ts';

/** A revert says which versions it took back. Of those from before, the content tells it. */
export const whatReverts: Migration = {
  version: 17,
  name: 'what reverts take back',
  steps: [column('svc_revision', { name: 'reverts', kind: 'text', nullable: true })],
};
