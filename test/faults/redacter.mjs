// A process that redacts a text everywhere and kills itself after so many transactions of it.
//
//   node redacter.mjs <database> <transactions> <request as JSON>

import { killAfter, openService } from './doomed.mjs';

const [database = '', transactions = '', request = ''] = process.argv.slice(2);

const { core, storage } = await openService(database);
killAfter(storage, ['mutate'], Number(transactions));
const caller = { address: null, traceId: null };
/** @type {import('../../core/contracts/admin.ts').RedactTextRequest} */
const first = JSON.parse(request);
let page = await core.revisions.redactText(first, caller);
while (page.nextCursor !== null) {
  page = await core.revisions.redactText({ ...first, cursor: page.nextCursor }, caller);
}
process.kill(process.pid, 'SIGKILL');
