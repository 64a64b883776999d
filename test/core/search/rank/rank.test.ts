import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openCollection } from '../../../../core/search/index/collection.ts';
import type { FilePayloads } from '../../../../core/search/index/postings.ts';
import { parseQuery } from '../../../../core/search/rank/query.ts';
import { rankCollection, type RankOptions } from '../../../../core/search/rank/rank.ts';
import { sumSignals } from '../../../support/sum-signals.ts';
import {
  scanNaively,
  searchScopes,
  searchTexts,
  storeScope,
  toScopeIndex,
  type Document,
} from './full-scan.ts';
import { encodeText, indexText } from '../../../support/index-text.ts';

const FILES: RankOptions = { group: 'file', limit: 10 };
const PASSAGES: RankOptions = { group: 'passage', limit: 10 };

function toDocuments(texts: Record<string, string>): Document[] {
  return Object.entries(texts).map(([path, text]) => ({ scope: 0, path, text }));
}

async function findPaths(texts: Record<string, string>, question: string): Promise<string[]> {
  return (await searchTexts(toDocuments(texts), question, FILES)).map(({ path }) => path);
}

/** Line numbers of the passages that are found in one file, best first. */
async function findLines(text: string, question: string): Promise<number[]> {
  const documents = [{ scope: 0, path: 'notes.md', text }];
  return (await searchTexts(documents, question, PASSAGES)).map(({ startLine }) => startLine);
}

const NOTES = {
  'profile.md': '# Ann\n\n- prefers green tea\n- lives in Oslo\n- allergic to nuts\n',
  'work.md':
    '# Work\n\nThe multi-agent service runs on node.js and C++.\n\nRelease v1.2.3 is out.\n',
  'trip.md':
    '# Trip to Japan\n\n東京タワーへ行きました。猫が好きです。\n\nWe went to Kyoto in May.\n',
  'de.md': 'Die Küche ist grün, aber sie mag den Garten nicht.\n',
  'ko.md': '서울에서 친구를 만났다.\n',
  'ru.md': 'Ёлка стоит в комнате, а кошки любят молоко.\n',
  'code.md': '```ts\nconst maxRetries = readConfig("retry_count");\n```\n',
};

describe('rankCollection', () => {
  it.each([
    ['What tea does Ann prefer?', 'profile.md'],
    ['nut allergy', 'profile.md'],
    ['multi-agent', 'work.md'],
    ['multi agent', 'work.md'],
    ['multiagent', 'work.md'],
    ['multiAgent', 'work.md'],
    ['C++', 'work.md'],
    ['node.js', 'work.md'],
    ['1.2.3', 'work.md'],
    ['did they go to Kyoto', 'trip.md'],
    ['may', 'trip.md'],
    ['猫', 'trip.md'],
    ['東京', 'trip.md'],
    ['東京タワー', 'trip.md'],
    ['the 東京 trip', 'trip.md'],
    ['서울', 'ko.md'],
    ['친구', 'ko.md'],
    ['елка', 'ru.md'],
    ['КОШКИ', 'ru.md'],
    ['kuche', 'de.md'],
    ['Küche', 'de.md'],
    ['Garten', 'de.md'],
    ['max retries', 'code.md'],
    ['retryCount', 'code.md'],
    ['maxRetries', 'code.md'],
    ['code', 'code.md'],
    ['profile', 'profile.md'],
  ])('finds by %j first %s', async (question, path) => {
    expect((await findPaths(NOTES, question))[0]).toBe(path);
  });

  it('finds nothing by words that no text has', async () => {
    expect(await findPaths(NOTES, 'zebra quilt')).toEqual([]);
    expect(await findPaths(NOTES, '')).toEqual([]);
    expect(await findPaths({}, 'tea')).toEqual([]);
  });

  it('answers with the passage, its lines and its file', async () => {
    const [first] = await searchTexts(toDocuments(NOTES), 'green tea', FILES);
    expect(first).toMatchObject({ path: 'profile.md', startLine: 3, endLine: 3, passage: 0 });
  });

  it.each([
    ['smart watch', '# Things\n\nA laptop.\n\nA smartwatch.\n\nA phone.\n', 5],
    ['狗叫什么名字', '# 家庭\n\n妻子是老师。\n\n养了一只狗。\n\n住在上海。\n', 5],
    ['multi-agent', '# Notes\n\nOne.\n\n## Multiagent\n\nTwo.\n\n## Other\n\nThree.\n', 7],
  ])(
    'finds by %j the place in the file, where no word stands as it was asked',
    async (asked, text, line) => {
      expect((await findLines(text, asked))[0]).toBe(line);
      const [found] = await searchTexts([{ scope: 0, path: 'a.md', text }], asked, FILES);
      expect(found?.startLine).toBe(line);
    },
  );

  it('prefers the passage that holds more of the question', async () => {
    const text = 'tea\n\ngreen shirts\n\nx\n\nx\n\ngreen and black tea\n\nx\n';
    expect((await findLines(text, 'green tea'))[0]).toBe(9);
  });

  it('prefers words that stand together', async () => {
    const text =
      'the tea in a green and white box\n\nx\n\nx\n\nx\n\nx\n\nthe green tea in a box that is white\n';
    expect((await findLines(text, 'green tea'))[0]).toBe(11);
  });

  it('prefers, of two like passages, the one whose heading or neighbours speak of the matter', async () => {
    const text = '# Cars\n\nx\n\nhas a red one\n\nx\n\n# Bicycles\n\nx\n\nhas a red one\n\nx\n';
    expect((await findLines(text, 'red bicycle'))[0]).toBe(13);
    const talk = 'a b\n\nsure, on Monday\n\nc\n\nd\n\nthe dentist?\n\nsure, on Monday\n\ne\n';
    expect((await findLines(talk, 'Monday dentist')).indexOf(11)).toBeLessThan(
      (await findLines(talk, 'Monday dentist')).indexOf(3),
    );
  });

  it('counts a rare word more than a common one', async () => {
    const texts = {
      ...Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`c${n}.md`, 'meeting notes'])),
      'rare.md': 'notes on zebras',
    };
    expect((await findPaths(texts, 'meeting zebra'))[0]).toBe('rare.md');
  });

  it.each([
    ['IT', 'it.md'],
    ['US', 'us.md'],
    ['U.S.', 'us.md'],
    ['The Who', 'band.md'],
    ['the who', 'band.md'],
    ['to do', 'todo.md'],
    ['to-do', 'todo.md'],
    ['who am I', 'self.md'],
    ['WHO AM I', 'self.md'],
    ['of it all', 'it.md'],
  ])('finds by %j, which is nothing but stop words, first %s', async (question, path) => {
    const texts = {
      'a.md': 'She asked who the man was, and what it was about. Is it all there is?\n',
      'band.md': '- Favourite band: The Who.\n',
      'it.md': '- Works in IT, and is tired of it all.\n',
      'm.md': 'Who did it? It is for us to say, as the others do not. I am for it.\n',
      'self.md': 'On the mirror stands: who am I?\n',
      'todo.md': '- What there is to do: nothing.\n',
      'us.md': '- Moved to the US in 2019.\n',
    };
    expect((await findPaths(texts, question))[0]).toBe(path);
  });

  it('prefers a name in capitals that looks like a stop word', async () => {
    const texts = {
      'a.md': 'The budget was cut, and it hurt.',
      'b.md': 'The budget of IT was cut.',
    };
    expect(await findPaths(texts, 'IT budget')).toEqual(['b.md', 'a.md']);
    expect(await findPaths(texts, 'it budget')).toEqual(['a.md', 'b.md']);
  });

  it('looks for no stop word where the question has another word', async () => {
    expect(await findPaths({ 'a.md': 'It is the one for us.' }, 'is it the zebra')).toEqual([]);
    expect(await findPaths({ 'a.md': 'Based on it.' }, 'ones')).toEqual([]);
  });

  it('reads a long question by its rarest words, wherever they stand', async () => {
    const letter = (n: number): string => 'abcdefghijklmno'.charAt(n);
    const common = Array.from(
      { length: 150 },
      (_, n) => `qu${letter(n % 15)}x${letter(Math.floor(n / 15))}`,
    );
    const texts = {
      ...Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`${n}.md`, common.join(' ')])),
      'first.md': 'zebra',
      'last.md': 'quilt',
      'middle.md': 'walrus',
    };
    const [before, after] = [common.slice(0, 75).join(' '), common.slice(75).join(' ')];
    for (const [asked, path] of [
      [`zebra ${before} ${after}`, 'first.md'],
      [`${before} walrus ${after}`, 'middle.md'],
      [`${before} ${after} quilt?`, 'last.md'],
    ] as const) {
      expect(
        await searchTexts(toDocuments(texts), asked, { group: 'file', limit: 9 }),
      ).toContainEqual(expect.objectContaining({ path }));
      const found = await searchTexts(toDocuments(texts), asked, PASSAGES);
      const expected = scanNaively(toDocuments(texts), asked, 'passage');
      expect(found.map(({ score }) => score)).toEqual(
        expected.slice(0, PASSAGES.limit).map(({ score }) => expect.closeTo(score, 9) as number),
      );
    }
  });

  it('breaks ties by path, then by place, whatever the limit', async () => {
    const same = 'green tea';
    const texts = { 'f.md': same, 'd.md': same, 'e.md': same, 'E.md': same };
    expect(await findPaths(texts, 'tea')).toEqual(['E.md', 'd.md', 'e.md', 'f.md']);
    for (const limit of [1, 2, 3]) {
      const found = await searchTexts(toDocuments(texts), 'tea', { group: 'file', limit });
      expect(found.map(({ path }) => path)).toEqual(
        ['E.md', 'd.md', 'e.md', 'f.md'].slice(0, limit),
      );
    }
  });

  it('gives only files that are included, and each file once', async () => {
    const options = { ...FILES, includes: ({ file }: { file: number }) => file !== 1 };
    const documents = toDocuments({ 'a.md': 'tea\n\ntea', 'b.md': 'tea', 'c.md': 'tea tea' });
    const found = (await searchTexts(documents, 'tea', options)).map(({ path }) => path);
    expect(found.sort()).toEqual(['a.md', 'c.md']);
  });

  it('explains a result as it was ranked, whatever was searched since', async () => {
    const rank = async (texts: Record<string, string>, question: string) => {
      const files = Object.entries(texts).map(([path, text]) => indexText(text, path));
      const rows = storeScope(new Map(files.entries()));
      const collection = openCollection([toScopeIndex({ rows, replaced: new Map() })]);
      return await rankCollection(parseQuery(question), collection, FILES);
    };
    // Twice: the first one leaves the room that the next one works in.
    for (let round = 0; round < 2; round += 1) {
      const { candidates, explain } = await rank(NOTES, 'green tea');
      await rank({ 'a.md': 'coffee\n\n'.repeat(500), 'b.md': 'coffee' }, 'coffee');
      const [first] = candidates;
      if (first === undefined) throw new Error('Nothing was found.');
      expect(sumSignals(await explain(first))).toBe(first.score);
    }
  });

  it('lets others have their turn while it ranks many passages, other searches too', async () => {
    const indexed = indexText('- green tea\n- black tea\n'.repeat(2_500), 'a.md');
    const files = Array.from({ length: 20 }, (_, file) => [file, indexed] as const);
    const rows = storeScope(new Map(files));
    const collection = openCollection([toScopeIndex({ rows, replaced: new Map() })]);
    const rank = (question: string) => rankCollection(parseQuery(question), collection, FILES);
    const questions = ['green tea', 'black tea', 'tea'];
    const alone: unknown[] = [];
    for (const question of questions) alone.push((await rank(question)).candidates);
    let turns = 0;
    const turn = setInterval(() => (turns += 1), 0);
    const together = await Promise.all(questions.map(rank));
    clearInterval(turn);
    expect(turns).toBeGreaterThan(0);
    expect(together.map(({ candidates }) => candidates)).toEqual(alone);
  });

  it('keeps no more passages of a file that score alike than are asked for', async () => {
    const file = indexText('- tea\n'.repeat(5_000), 'a.md');
    const rows = storeScope(new Map([[0, file]]));
    const collection = openCollection([toScopeIndex({ rows, replaced: new Map() })]);
    const { candidates } = await rankCollection(parseQuery('tea'), collection, PASSAGES);
    expect(candidates.length).toBeGreaterThanOrEqual(PASSAGES.limit);
    expect(candidates.length).toBeLessThanOrEqual(3 * PASSAGES.limit);
  });

  it('takes the shared scope and the user’s as one collection', async () => {
    const texts = Object.entries(NOTES);
    const apart = texts.map(([path, text], file) => ({ scope: file % 2, path, text }));
    for (const question of ['green tea in Oslo', '猫', 'go']) {
      const together = await searchTexts(toDocuments(NOTES), question, PASSAGES);
      expect(await searchTexts(apart, question, PASSAGES)).toEqual(together);
    }
  });

  it('explains each score by the signals that it is made of', async () => {
    for (const options of [FILES, PASSAGES]) {
      const found = await searchTexts(
        toDocuments(NOTES),
        'Ann prefers green tea in the kitchen',
        options,
      );
      expect(found.length).toBeGreaterThan(0);
      for (const { score, signals } of found) {
        expect(sumSignals(signals)).toBeCloseTo(score, 10);
        expect(signals.matched).toBeLessThanOrEqual(signals.words);
      }
    }
    const [first] = await searchTexts(toDocuments(NOTES), 'Ann green tea', PASSAGES);
    for (const name of ['passage', 'context', 'pairs', 'file'] as const) {
      expect(first?.signals[name], name).toBeGreaterThan(0);
    }
  });
});

describe('any collection', () => {
  const WORDS =
    'tea green black teacup cup ann bob went go garden the is who IT to-do multi-agent multiagent agents 猫が好き 好 東京 ist nicht und v1.2'.split(
      ' ',
    );
  const STOP_WORDS = 'the is who it IT to do to-do am US'.split(' ');
  const sentence = fc
    .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 12 })
    .map((words) => words.join(' '));
  const line = fc.oneof(
    { weight: 4, arbitrary: sentence },
    { weight: 2, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: sentence.map((text) => `## ${text}`) },
    { weight: 1, arbitrary: sentence.map((text) => `- ${text}`) },
  );
  const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'));
  const path = fc
    .tuple(fc.constantFrom('tea', 'garden', 'x'), fc.nat(99))
    .map(([name, number]) => `${name}/${number}.md`);
  const documents = fc.uniqueArray(fc.record({ scope: fc.constantFrom(0, 1), path, text }), {
    minLength: 1,
    maxLength: 10,
    selector: (document) => document.path,
  });
  const question = fc
    .oneof(
      { weight: 3, arbitrary: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 9 }) },
      {
        weight: 1,
        arbitrary: fc.array(fc.constantFrom(...STOP_WORDS), { minLength: 1, maxLength: 4 }),
      },
    )
    .map((words) => words.join(' '));
  const group = fc.constantFrom('file' as const, 'passage' as const);

  it('is ranked as the formula says, written down apart from it', async () => {
    await fc.assert(
      fc.asyncProperty(documents, question, group, async (given, asked, by) => {
        const found = await searchTexts(given, asked, { group: by, limit: 1_000 });
        if (by === 'file') {
          // A file's place is one that has something of the question, never just a neighbour.
          for (const { signals } of found) {
            expect(signals.passage + signals.context).toBeGreaterThan(0);
          }
        }
        const expected = scanNaively(given, asked, by);
        const byPlace = (list: readonly { path: string; passage: number; score: number }[]) =>
          new Map(list.map(({ path, passage, score }) => [`${path} ${passage}`, score]));
        const scores = byPlace(found);
        expect(scores.size).toBe(expected.length);
        for (const [place, score] of byPlace(expected)) {
          // The best of a file's passages that score alike may be another one by a rounding.
          if (by === 'passage') expect(scores.get(place)).toBeCloseTo(score, 9);
        }
        expected.forEach(({ score }, index) => expect(found[index]?.score).toBeCloseTo(score, 9));
      }),
      { numRuns: 200 },
    );
  });

  it('gives the first of all results when few are asked for', async () => {
    await fc.assert(
      fc.asyncProperty(
        documents,
        question,
        group,
        fc.integer({ min: 1, max: 4 }),
        async (given, asked, by, limit) => {
          const all = await searchTexts(given, asked, { group: by, limit: 1_000 });
          expect(await searchTexts(given, asked, { group: by, limit })).toEqual(
            all.slice(0, limit),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is ranked alike to the last digit from stored postings, from texts, and from any mixture', async () => {
    const stale = fc.array(fc.boolean(), { minLength: 10, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(documents, question, group, stale, async (given, asked, by, behind) => {
        const options = { group: by, limit: 5 };
        const indexed = given.map((document) => indexText(document.text, document.path));
        // What is stored of a file that is behind is another text, or nothing.
        const old = given.map((document, file) =>
          behind[file] ? indexText(`old tea ${document.text}`, document.path) : indexed[file],
        );
        const scopes = [0, 1].map((scope) => {
          const own = given.flatMap((document, file) => (document.scope === scope ? [file] : []));
          const stored = new Map(
            own.flatMap((file) => {
              const known = old[file];
              return known === undefined || (behind[file] && file % 3 === 0)
                ? []
                : [[file, known] as const];
            }),
          );
          // A file that is gone leaves its postings until the indexer comes by.
          stored.set(50, indexText('gone green tea', 'gone.md'));
          const replaced = new Map(
            indexed.flatMap((now, file) =>
              own.includes(file) && behind[file] ? [[file, encodeText(now)] as const] : [],
            ),
          );
          return {
            rows: storeScope(stored).reverse(),
            replaced: new Map<number, FilePayloads | null>([...replaced, [50, null]]),
          };
        });
        expect(await searchScopes(scopes, given, indexed, asked, options)).toEqual(
          await searchTexts(given, asked, options),
        );
      }),
      { numRuns: 200 },
    );
  });
});

describe('openCollection', () => {
  const file = indexText('green tea', 'a.md');
  const whole = toScopeIndex({ rows: storeScope(new Map([[0, file]])), replaced: new Map() });

  it('tells that postings of a file without lengths are damaged', async () => {
    const { lengths } = toScopeIndex({ rows: [], replaced: new Map() });
    const collection = openCollection([{ ...whole, lengths }]);
    await rankCollection(parseQuery('tea'), collection, FILES);
    expect([...collection.damaged]).toEqual([0]);
  });

  it('tells that postings of passages beyond the file are damaged', async () => {
    const longer = storeScope(new Map([[0, indexText('tea\n\ntea\n\ntea', 'a.md')]]));
    const { rows } = toScopeIndex({ rows: longer, replaced: new Map() });
    const collection = openCollection([{ ...whole, rows }]);
    await rankCollection(parseQuery('tea'), collection, FILES);
    expect([...collection.damaged]).toEqual([0]);
  });
});
