import { describe, it } from 'vitest';
import { runStorageCase, storageCases } from '../../../core/testing/index.ts';
import { mysql } from '../../../plugins/storage-mysql/index.ts';
import { freshDatabase } from '../../support/mariadb.ts';

describe('storage on MariaDB', () => {
  it.each(storageCases)('$name', async (storageCase) => {
    const urls = new Map<string, string>();
    await runStorageCase(storageCase, async (place) => {
      const url = urls.get(place) ?? (await freshDatabase());
      urls.set(place, url);
      return mysql({ url });
    });
  });
});
