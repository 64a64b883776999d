import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { writeAudit } from '../../telemetry/audit.ts';
import { MemoryError } from '../../errors.ts';
import { noteCopy } from '../../erase/copies.ts';
import { backUpBeside } from '../../maintenance/backup.ts';
import type { AuditCaller } from '../../contracts/plugin.ts';
import { createIdSource } from '../../ids/ids.ts';
import { createJob } from '../../maintenance/job.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { BackupFile, jobOf } from '../../schemas/jobs.ts';
import { nullable } from '../../schemas/shapes.ts';

const BackupJob = jobOf(BackupFile);

/**
 * Copies the database while it is in use. `memory-service backup` calls this on a running server.
 */
export function backupRoutes(core: Pick<Core, 'storage' | 'log' | 'now'>): RouteDefinition[] {
  const { storage } = core;
  const ids = createIdSource(core.now);

  const job = createJob({
    name: 'backup',
    log: core.log,
    async work(caller: AuditCaller, progress) {
      const entry = { action: 'backup.create', target: 'all', details: {}, ...caller };
      await writeAudit({ storage, ids }, entry);
      const made = await backUpBeside(storage, { ids, progress });
      await noteCopy(storage, made.file);
      return made;
    },
  });
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/backup',
      role: 'admin',
      summary: 'Copy the database beside itself',
      description:
        'Answers at once: a consistent copy of a SQLite file is made in the background, in the same directory under a name of its own. The copy before it is removed. memory-service backup moves the copy to its target.',
      resultSchema: BackupJob,
      status: 202,
      errorCodes: ['INVALID_REQUEST'],
      handle(request) {
        if (storage.backUp === undefined) {
          const message = `A ${storage.name} database is backed up by its own tools.`;
          throw new MemoryError('INVALID_REQUEST', message);
        }
        return job.start(request.caller);
      },
    }),
    adminRoute('Status', {
      method: 'GET',
      path: '/v1/admin/backup',
      role: 'viewer',
      summary: 'Read how far the copy is',
      description: 'Bytes written so far. The last copy of the process that answers, or null.',
      resultSchema: nullable(BackupJob),
      handle: () => job.state(),
    }),
  ];
}
