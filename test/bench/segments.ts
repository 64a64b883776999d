import type { Suite } from './support/bench.ts';
import { toSpread } from './support/statistics.ts';

/** Tables of less than this part of the text are not named. */
const NEGLIGIBLE = 0.005;

/** What the index takes beside the text and the writes: bytes by table, time, and the time of its merges. */
export const suite: Suite = {
  about: 'bytes of each kind of row beside the text; writes with the index kept up; merges',
  options: { files: 'files of about 2 KB to write (default 5,000)' },
  async run(bench) {
    const files = Number(bench.options['files'] ?? (bench.isQuick ? 500 : 5_000));
    const opened = await bench.open('memory-service', 'contestants/indexed-files.ts', { files });
    const facts = opened.party?.facts as Record<string, number> | undefined;
    if (facts === undefined) return;
    const { textBytes = 0, writtenSeconds = 0, indexedSeconds = 0, mergeShare = 0 } = facts;
    const share = (bytes: number): string => (bytes / textBytes).toFixed(2);
    bench.report.row(
      `${files.toLocaleString('en-US')} files written once, the bytes of the text = 1`,
      [],
    );
    const tables = Object.entries(facts)
      .filter(([name, bytes]) => name.startsWith('svc_') && bytes > NEGLIGIBLE * textBytes)
      .sort(([, left], [, right]) => right - left);
    for (const [name, bytes] of tables) bench.report.note(`  ${share(bytes).padStart(5)}  ${name}`);
    const total = tables.reduce((sum, [, bytes]) => sum + bytes, 0);
    const index = tables
      .filter(([name]) => /^svc_(segment|index|passage|posting|vector)/.test(name))
      .reduce((sum, [, bytes]) => sum + bytes, 0);
    bench.report.figure('index-bytes', toSpread([index / textBytes]));
    bench.report.figure('database-bytes', toSpread([total / textBytes]));
    bench.report.row('Writes until they are answered, and until they are indexed, too', []);
    bench.report.note(
      `  ${Math.round(files / writtenSeconds)} and ${Math.round(files / indexedSeconds)} files/s`,
    );
    bench.report.figure('write-indexed', toSpread([writtenSeconds / indexedSeconds]));
    bench.report.figure('merge-share', toSpread([100 * mergeShare]));
  },
};
