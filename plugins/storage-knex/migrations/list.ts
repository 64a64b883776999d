import type { Migration } from '../schema.ts';
import { memory } from './0001-memory.ts';
import { search } from './0002-search.ts';

/** Every migration, oldest first: the place in the list is the schema's version. */
export const MIGRATIONS: readonly Migration[] = [memory, search];
