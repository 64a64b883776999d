import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fromDiskPath,
  toComparableName,
  toComparablePath,
  toDiskPaths,
} from '../../../core/archive/disk-names.ts';
import { anyPath } from '../../support/any-path.ts';

const names = (paths: readonly string[]) => {
  const changed = toDiskPaths(paths);
  return paths.map((path) => changed.get(path) ?? path);
};

/** Letters with another case or form. */
const CHANGES = /[\p{Changes_When_Casemapped}\p{Changes_When_NFKC_Casefolded}]/u;

describe('the names of files on a disk', () => {
  it('are apart where a disk ignores case, form, or what is a folder', () => {
    expect(names(['Notes.md', 'notes.md', 'NOTES.md'])).toEqual([
      'Notes%2.md',
      'notes%3.md',
      'NOTES.md',
    ]);
    expect(names(['straße.md', 'STRASSE.md', 'straẞe.md'])).toEqual([
      'straße%2.md',
      'STRASSE.md',
      'straẞe%3.md',
    ]);
    expect(names(['s.md', 'ſ.md'])).toEqual(['s.md', 'ſ%2.md']);
    expect(names(['k.md', '\u212a.md'])).toEqual(['k.md', '\u212a%2.md']);
    expect(names(['é', 'e\u0301'])).toEqual(['é%2', 'e\u0301']);
    expect(names(['σας.md', 'ΣΑΣ.md'])).toEqual(['σας%2.md', 'ΣΑΣ.md']);
    // The folder keeps its name, and all that is in it.
    expect(names(['a', 'a/b', 'A/c'])).toEqual(['a%3', 'a%2/b', 'A/c']);
    expect(names(['users/Alice/a.md', 'users/alice/a.md'])).toEqual([
      'users/Alice/a.md',
      'users/alice%2/a.md',
    ]);
  });

  it('change only where they must, and not with the order of paths', () => {
    expect(toDiskPaths(['a.md', 'b/a.md', 'A/b.md', 'ab.md']).size).toBe(0);
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'A', 'a/b', 'A/b', 'a/B', 'b', 'B/a')), (paths) => {
        const one = toDiskPaths(paths);
        const other = toDiskPaths([...paths].reverse());
        expect([...one].sort()).toEqual([...other].sort());
      }),
    );
  });

  it('are apart for any paths, and give the paths back', () => {
    const relative = fc.oneof(
      anyPath,
      anyPath.map((path) => path.toUpperCase().normalize('NFC')),
      fc
        .array(fc.constantFrom('a', 'A', 'ß', 'ss', 'ẞ', 'ſs', 'é', 'É'), {
          minLength: 1,
          maxLength: 3,
        })
        .map((parts) => parts.join('/')),
    );
    fc.assert(
      fc.property(fc.uniqueArray(relative, { maxLength: 30 }), (paths) => {
        const written = names(paths);
        const folders = written.flatMap((path) =>
          path.split('/').flatMap((_, at, all) => (at === 0 ? [] : [all.slice(0, at).join('/')])),
        );
        const comparable = [...written, ...new Set(folders)].map(toComparablePath);
        expect(new Set(comparable).size).toBe(comparable.length);
        expect(written.map(fromDiskPath)).toEqual(paths);
      }),
      { numRuns: 1_000 },
    );
  });

  it('compare as equal whatever case or form a disk gives a letter', () => {
    for (let code = 0x20; code < 0x110000; code += 1) {
      const letter = String.fromCodePoint(code);
      if (!CHANGES.test(letter)) continue;
      const comparable = toComparableName(letter);
      for (const other of [
        letter.toLowerCase(),
        letter.toUpperCase(),
        letter.normalize('NFC'),
        letter.normalize('NFD'),
        letter.toUpperCase().toLowerCase(),
      ]) {
        if (other !== letter && toComparableName(other) !== comparable) {
          expect.fail(`${letter} (${code.toString(16)}) and ${other} differ`);
        }
      }
    }
    expect(toComparableName('.g\u200cit')).toBe('.GIT');
    expect(toComparableName('alice. ')).toBe('ALICE');
  });
});
