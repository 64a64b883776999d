/**
 * The answers of the admin API, as the console and other clients read them: types of the schemas.
 *
 * Times are RFC 3339 in UTC with milliseconds; sizes are bytes of UTF-8; paths are physical unless
 * a field says otherwise. Absent is `null`.
 */

export type * from '../schemas/access.ts';
export type * from '../schemas/archive.ts';
export type * from '../schemas/audit.ts';
export type * from '../schemas/checks.ts';
export type * from '../schemas/configuration.ts';
export type * from '../schemas/content-search.ts';
export type * from '../schemas/dreams.ts';
export type * from '../schemas/erase.ts';
export type * from '../schemas/events.ts';
export type * from '../schemas/files.ts';
export type * from '../schemas/freezes.ts';
export type * from '../schemas/jobs.ts';
export type * from '../schemas/keys.ts';
export type * from '../schemas/model-exam.ts';
export type * from '../schemas/observability.ts';
export type * from '../schemas/revisions.ts';
export type { ListAnswer } from '../schemas/shapes.ts';
export type * from '../schemas/spaces.ts';
export type * from '../schemas/status.ts';
export type * from '../schemas/tools.ts';
export type * from '../schemas/usage.ts';
export type * from '../schemas/users.ts';
export type * from '../schemas/value-counts.ts';
export type * from '../schemas/why-not.ts';
