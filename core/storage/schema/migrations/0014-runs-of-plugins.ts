import { column, integer, type Migration, table } from '../migration.ts';

/**
 * Any plugin has runs, and keeps something of users between them. The runs of dreaming stay as they
 * are: they name no plugin, and `svc_dream_run` has their users.
 */
export const runsOfPlugins: Migration = {
  version: 14,
  name: 'runs of plugins',
  steps: [
    column('svc_dream_history', { name: 'plugin', kind: 'key', length: 64, nullable: true }),
    table('svc_plugin_user', ['scope_id', 'plugin'], { clustered: false }, [
      integer('scope_id'),
      { name: 'plugin', kind: 'key', length: 64 },
      { name: 'user_id', kind: 'key', length: 128 },
      integer('paused'),
      { name: 'status', kind: 'key', length: 16, nullable: true },
      { name: 'run_id', kind: 'id', nullable: true },
      integer('watermark', { nullable: true }),
      integer('own_write_at', { nullable: true }),
      integer('last_run_at', { nullable: true }),
      integer('files_touched'),
      integer('runs'),
      integer('failures'),
      integer('retry_at', { nullable: true }),
      { name: 'error', kind: 'text', nullable: true },
      { name: 'review_cursor', kind: 'key', length: 512, nullable: true },
      integer('waiting'),
      { name: 'rejected', kind: 'content', nullable: true },
      integer('tokens_day'),
      integer('tokens_used'),
      integer('fence', { nullable: true }),
    ]),
  ],
};
