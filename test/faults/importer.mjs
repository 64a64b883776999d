// A process that imports a file and kills itself after so many transactions.
//
//   node importer.mjs <database> <file> <transactions>

import { createReadStream } from 'node:fs';
import { killAfter, openService } from './doomed.mjs';

const [database = '', file = '', transactions = ''] = process.argv.slice(2);

const { core, storage } = await openService(database);
killAfter(storage, ['mutate'], Number(transactions));
const options = { onExisting: 'refuse', dryRun: false, caller: null };
const imported = await core.archive.import(() => createReadStream(file), options);
while ((await imported.next()).done !== true);
process.kill(process.pid, 'SIGKILL');
