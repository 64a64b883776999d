// A process that reverts all writes of an actor. It kills itself after so many transactions of the
// revert, and so many milliseconds into the next one.
//
//   node reverter.mjs <database> <actor> <transactions> <milliseconds>

import { killAfter, openService } from './doomed.mjs';

const [database = '', actor = '', transactions = '', delay = ''] = process.argv.slice(2);

const { core, storage } = await openService(database);
killAfter(storage, ['mutate'], Number(transactions), Number(delay));
const caller = { address: null, traceId: null };
await core.revisions.revertWrites({ actor, since: '1970-01-02T00:00:00.000Z' }, caller);
process.kill(process.pid, 'SIGKILL');
