import type { CheckChange, CheckRun } from '../schemas/checks.ts';

/** What got better and worse since an earlier run, by the names of checks. */
export function compareRuns(
  before: Pick<CheckRun, 'results'>,
  after: Pick<CheckRun, 'results'>,
): CheckChange[] {
  const earlier = new Map(before.results.map((result) => [result.name, result]));
  return after.results.flatMap((result): CheckChange[] => {
    const { name, passed, rank } = result;
    const old = earlier.get(name);
    if (old === undefined) return [];
    const ranks =
      rank !== undefined && old.rank !== undefined && rank !== old.rank
        ? `rank ${old.rank ?? 'none'} → ${rank ?? 'none'}`
        : null;
    if (old.passed !== passed) {
      const what = passed ? 'passes now' : 'fails now';
      const turned = passed ? 'green' : 'red';
      const all = ranks === null ? what : `${what}, ${ranks}`;
      return [{ name, isBetter: passed, turned, what: all }];
    }
    if (ranks === null) return [];
    const isBetter = (rank ?? Infinity) < (old.rank ?? Infinity);
    return [{ name, isBetter, turned: null, what: ranks }];
  });
}

/** What changed, a line each: `worse   Alice's allergy is found: rank 1 → 4`. */
export function sayChanges(changes: readonly CheckChange[]): string[] {
  return changes.map(
    ({ name, isBetter, what }) => `${isBetter ? 'better' : 'worse '}  ${toPlain(name)}: ${what}`,
  );
}

/** Without what a terminal obeys. */
export const toPlain = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');

/** A run in the XML form that CI servers read. */
export function toJunit({ at, passed, failed, results }: CheckRun): string {
  const cases = results.map(({ name, why, near, passed: isGood, places = [] }) => {
    const open = `    <testcase classname="memory" name="${toXml(name)}"`;
    if (isGood) return `${open}/>`;
    const lines = places.map(({ path, lines: at }) =>
      at.length === 0 ? path : `${path}:${at.join(',')}`,
    );
    return [
      `${open}>`,
      `      <failure message="${toXml(sayWhy({ why, near }))}">${toXml(lines.join('\n'))}</failure>`,
      '    </testcase>',
    ].join('\n');
  });
  const counts = `tests="${passed + failed}" failures="${failed}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="memory checks" ${counts} timestamp="${at}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** Why a check fails, with a name that may be meant. */
export function sayWhy({
  why = '',
  near,
}: {
  why?: string | undefined;
  near?: string | undefined;
}): string {
  return near === undefined ? why : `${why.replace(/\.$/, '')}. Did you mean ${near}?`;
}

/** Text for XML, without the characters that XML does not take. */
function toXml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
