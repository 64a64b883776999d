import { describe, expect, it } from 'vitest';
import type { RouteRequest } from '../../../core/contracts/route.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  ifVersionOf,
  matchesTag,
  toVersionTag,
  withPrecondition,
} from '../../../core/http/precondition.ts';
import { rejection } from '../../support/rejection.ts';

/** A request with these headers, and the status that its answer gets. */
function requestWith(headers: Readonly<Record<string, string>>) {
  const statuses: number[] = [];
  const request = {
    header: (name: string) => headers[name] ?? null,
    setStatus: (status: number) => statuses.push(status),
  } as Partial<RouteRequest> as RouteRequest;
  return { request, statuses };
}

const PRESENT = 7;
const present = async () => PRESENT;

describe('the version that a write expects', () => {
  it.each([
    [{}, undefined],
    [{ 'if-none-match': '*' }, 0],
    [{ 'if-none-match': ' * ' }, 0],
    [{ 'if-match': '"1"' }, 1],
    [{ 'if-match': '"120"' }, 120],
    [{ 'if-match': toVersionTag(999_999_999_999_999) }, 999_999_999_999_999],
    // As a proxy that compresses answers changed the tag.
    [{ 'if-match': 'W/"3"' }, 3],
    [{ 'if-match': '"3-gzip"' }, 3],
    [{ 'if-match': '"3;gzip"' }, 3],
    [{ 'if-match': 'W/"3--gzip"' }, 3],
    [{ 'if-match': '"3-br"' }, 3],
    [{ 'if-match': ' "3" ' }, 3],
    [{ 'if-match': '"3",' }, 3],
    // Of several, the present one.
    [{ 'if-match': '"3", "7"' }, PRESENT],
    [{ 'if-match': 'W/"7-gzip" ,\t"9"' }, PRESENT],
    [{ 'if-match': '"3","4"' }, 3],
    [{ 'if-match': '*' }, PRESENT],
    [{ 'if-match': ' *' }, PRESENT],
  ])('is read from %j', async (headers, version) => {
    expect(await ifVersionOf(requestWith(headers).request, present)).toBe(version);
  });

  it.each([
    toVersionTag(1_000_000_000_000_000),
    '"0"',
    '1',
    '""',
    '"1',
    '"a"',
    'w/"1"',
    'W/ "1"',
    '"1-zip"',
    '"1" "2"',
    '"1", 2',
    '"1", *',
    '',
    ',',
  ])('is refused as If-Match: %s', async (ifMatch) => {
    const { request } = requestWith({ 'if-match': ifMatch });
    await expect(ifVersionOf(request, present)).rejects.toThrow(
      'If-Match must be one version in quotes, as the ETag gave it.',
    );
  });

  it('is a version of a file that exists, with *', async () => {
    const { request } = requestWith({ 'if-match': '*' });
    await expect(ifVersionOf(request, async () => 0)).rejects.toMatchObject({
      code: 'VERSION_CONFLICT',
      status: 412,
    });
  });

  it('makes a conflict a 412, and changes no other error', async () => {
    const conflict = new MemoryError('VERSION_CONFLICT', 'Two.', { details: { actual: 2 } });
    const missing = new MemoryError('FILE_NOT_FOUND');
    const foreign = Object.assign(new Error('Not ours.'), { code: 'VERSION_CONFLICT' });
    const failing = (error: Error) => () => Promise.reject(error);
    const changed = await rejection(withPrecondition(0, failing(conflict)));
    expect(changed).toMatchObject({
      status: 412,
      code: 'VERSION_CONFLICT',
      message: 'Two.',
      details: { actual: 2 },
      cause: conflict,
    });
    expect(await rejection(withPrecondition(undefined, failing(conflict)))).toBe(conflict);
    expect(conflict.status).toBe(409);
    expect(await rejection(withPrecondition(1, failing(missing)))).toBe(missing);
    await expect(withPrecondition(1, failing(foreign))).rejects.toBe(foreign);
    expect(await withPrecondition(1, async () => 'written')).toBe('written');
  });
});

describe('If-None-Match', () => {
  it('makes the answer a 304 where it names the version', () => {
    for (const tags of ['"1"', 'W/"1"', '"7",W/"1"', '"7" ,\t"1"', '*', '"1-gzip"', 'W/"1;br"']) {
      const { request, statuses } = requestWith({ 'if-none-match': tags });
      expect([matchesTag(request, '"1"'), statuses], tags).toEqual([true, [304]]);
    }
    for (const tags of [undefined, '"2"', '"W/1"', '']) {
      const { request, statuses } = requestWith(
        tags === undefined ? {} : { 'if-none-match': tags },
      );
      expect([matchesTag(request, '"1"'), statuses], tags).toEqual([false, []]);
    }
  });
});
