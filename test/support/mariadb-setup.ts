import { brokerSetup } from './broker.ts';
import { createDatabase, startMariadb } from './mariadb-server.ts';

/** It is for tests: what a power loss would take is of no interest here, and an fsync costs. */
const FLAGS = ['--innodb-flush-log-at-trx-commit=2', '--innodb-flush-method=nosync'];

export default brokerSetup('mariadbBroker', {
  start: () => startMariadb({ flags: FLAGS }),
  create: createDatabase,
});
