import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { translateMysqlError } from '../../../plugins/storage-mysql/dialect.ts';
import { Damage } from '../../../core/storage/write/damage.ts';

const native = (errno: number, message: string) => Object.assign(new Error(message), { errno });

const UNREADABLE: readonly [number, string][] = [
  [1016, "Can't open file: 'svc_file.ibd' (errno: 24)"],
  [1024, "Error reading file 'svc_file' (errno: 5)"],
  [1030, 'Got error 5 "Input/output error" from storage engine InnoDB'],
  [1030, 'Got error 116 "Stale file handle" from storage engine InnoDB'],
  [1037, 'Out of memory; restart server and try again'],
  [1135, "Can't create a new thread (errno 11)"],
  [1812, 'Tablespace is missing for table svc_file'],
];
const DAMAGED: readonly [number, string][] = [
  [1030, 'Got error 126 "Index file is crashed" from storage engine Aria'],
  [1030, 'Got error 145 "Table was marked as crashed" from storage engine Aria'],
  [1034, "Incorrect key file for table 'svc_file'; try to repair it"],
  [1035, "Old key file for table 'svc_file'; repair it!"],
  [1712, 'Index svc_file is corrupted'],
  [1877, 'Table svc_file is corrupted'],
];

describe('an error of MariaDB over its files', () => {
  it.each(UNREADABLE)('%i "%s" is unavailable, with its number', (errno, message) => {
    const error = translateMysqlError(native(errno, message));
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(error.message).toContain(String(errno));
    expect(error.message).not.toContain('svc_file');
  });

  it.each(DAMAGED)('%i "%s" is damage only if it stays', async (errno, message) => {
    expect(translateMysqlError(native(errno, message)).code).toBe('STORAGE_DAMAGED');
    const damage = new Damage();
    let failures = 1;
    const passing = () => {
      failures -= 1;
      return failures < 0 ? Promise.resolve('read') : Promise.reject(native(errno, message));
    };
    await expect(damage.confirm(passing, { explain: translateMysqlError })).resolves.toBe('read');
    expect(() => damage.assertNone()).not.toThrow();
    const staying = () => Promise.reject(native(errno, message));
    await expect(damage.confirm(staying, { explain: translateMysqlError })).rejects.toMatchObject({
      code: 'STORAGE_DAMAGED',
    });
    expect(() => damage.assertNone()).toThrow(MemoryError);
  });

  it('is a full disk where a temporary table seems damaged', () => {
    const error = native(
      1034,
      "Incorrect key file for table '/tmp/#sql-temptable-1'; try to repair it",
    );
    expect(translateMysqlError(error).code).toBe('STORAGE_FULL');
  });
});
