// A process that erases a user and kills itself after so many transactions of the erasure.
//
//   node eraser.mjs <database> <user> <transactions>

import { killAfter, openService } from './doomed.mjs';

const [database = '', userId = '', transactions = ''] = process.argv.slice(2);

const { core, storage } = await openService(database);
killAfter(storage.erasure, ['begin', 'erase', 'end'], Number(transactions));
await core.erasures.erase({ userId }, { confirm: userId }, { address: null, traceId: null });
process.kill(process.pid, 'SIGKILL');
