// A process that restores a memory to an earlier time and kills itself after so many transactions.
//
//   node restorer.mjs <database> <user> <time> <transactions>

import { randomUUID } from 'node:crypto';
import { killAfter, openService } from './doomed.mjs';

const [database = '', userId = '', at = '', transactions = ''] = process.argv.slice(2);

const { core, storage } = await openService(database);
killAfter(storage, ['mutate'], Number(transactions));
const caller = { address: null, traceId: randomUUID().replaceAll('-', '') };
await core.restores.restore({ userId }, { at }, caller);
process.kill(process.pid, 'SIGKILL');
