import type { CheckRun } from '../schemas/checks.ts';

/** A change of a check against an earlier run. */
export interface CheckChange {
  name: string;
  isBetter: boolean;
  /** For people, as in `rank 1 → 4`. */
  what: string;
}

/** What got better and worse since an earlier run, by the names of checks. */
export function compareRuns(before: Pick<CheckRun, 'results'>, after: CheckRun): CheckChange[] {
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
      return [{ name, isBetter: passed, what: ranks === null ? what : `${what}, ${ranks}` }];
    }
    if (ranks === null) return [];
    return [{ name, isBetter: (rank ?? Infinity) < (old.rank ?? Infinity), what: ranks }];
  });
}

/** A run in the XML form that CI servers read. */
export function toJunit({ at, passed, failed, results }: CheckRun): string {
  const cases = results.map(({ name, why, passed: isGood, places = [] }) => {
    const open = `    <testcase classname="memory" name="${toXml(name)}"`;
    if (isGood) return `${open}/>`;
    const lines = places.map(({ path, lines: at }) =>
      at.length === 0 ? path : `${path}:${at.join(',')}`,
    );
    return [
      `${open}>`,
      `      <failure message="${toXml(why ?? '')}">${toXml(lines.join('\n'))}</failure>`,
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
