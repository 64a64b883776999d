import { describe } from 'vitest';
import { storageCases } from '../../core/storage/rules/all.ts';
import { runCases } from '../../core/storage/rules/storage-case.ts';
import { postgres } from '../../support/databases.ts';
import { freshPostgres } from '../../support/postgres.ts';

describe('storage on PostgreSQL', () => {
  runCases(storageCases, () => {
    const urls = new Map<string, string>();
    return async (place: string) => {
      const url = urls.get(place) ?? (await freshPostgres());
      urls.set(place, url);
      return postgres({ url });
    };
  });
});
