import { brokerSetup } from './broker.ts';
import { createPostgresDatabase, startPostgres } from './postgres-server.ts';

/** It is for tests: what a power loss would take is of no interest here, and an fsync costs. */
const SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

export default brokerSetup('postgresBroker', {
  start: () => startPostgres({ settings: SETTINGS }),
  create: createPostgresDatabase,
});
