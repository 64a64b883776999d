import { describe, expect, it } from 'vitest';
import { labelRows } from '../../../core/erase/row-labels.ts';
import { SCOPE_TABLES } from '../../../core/storage/schema/tables.ts';

describe('the rows of an erasure', () => {
  it('are told by what they hold, never by the name of a table', () => {
    const tables = [...SCOPE_TABLES, 'svc_lease', 'svc_budget'];
    const labels = labelRows(Object.fromEntries(tables.map((table) => [table, 1])));
    expect(Object.keys(labels).filter((label) => label.includes('_'))).toEqual([]);
    const sum = Object.values(labels).reduce((total, count) => total + count, 0);
    expect(sum).toBe(tables.length);
  });

  it('keep the name of a table that only another storage driver has', () => {
    expect(labelRows({ svc_posting: 2, svc_index_doc: 1, blobs: 3, svc_file: 0 })).toEqual({
      'Search index': 3,
      blobs: 3,
    });
  });
});
