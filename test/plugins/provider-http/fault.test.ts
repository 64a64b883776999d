import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../../plugins/provider-http/fault.ts';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

describe('when a provider asks to come back', () => {
  it.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1_500],
    [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    [{ 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '-3' }, 0],
    [{ 'retry-after': '1e99' }, null],
    [{ 'retry-after-ms': 'NaN', 'retry-after': '2' }, 2_000],
    [{}, null],
  ])('%o is in %s ms', (headers: Record<string, string>, ms) => {
    expect(readRetryAfter(new Headers(headers), NOW)).toBe(ms);
  });
});
