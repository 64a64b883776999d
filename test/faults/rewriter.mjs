// A process that erases a user or redacts a revision, and kills itself at a point of what follows the
// receipt: before the database file is rewritten, so many milliseconds after that has begun, before the
// log is emptied, or before it is kept that all this is done.
//
//   node rewriter.mjs <database> <driver> <user or revision> <point> [<milliseconds>]

import { killAfter, openService } from './doomed.mjs';

const [database = '', driver = '', target = '', point = '', delay = ''] = process.argv.slice(2);

const { core, storage } = await openService(database, { driver });
const { file } = storage.erasure;
if (point === 'within') {
  const { rewrite } = file;
  file.rewrite = (/** @type {Parameters<typeof rewrite>} */ ...options) => {
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(delay));
    return rewrite(...options);
  };
} else {
  killAfter(file, [point], 0);
}
const operator = { address: null, traceId: null };
await (target.length === 36
  ? core.revisions.redact(target, { reason: 'a test' }, operator)
  : core.erasures.erase({ userId: target }, { confirm: target }, operator));
process.kill(process.pid, 'SIGKILL');
