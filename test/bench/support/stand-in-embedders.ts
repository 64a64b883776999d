import { embedWords } from '../../support/provider-server/embed.ts';

/** In place of an embedding model: a text's vector, of that many numbers. */
export type StandIn = (text: string, dimensions: number) => number[];

/** A question and the texts of the passages that answer it. */
export interface Answered {
  question: string;
  answers: readonly string[];
}

/** Stand-ins by name, each with what it is good for. */
export const STAND_INS: Readonly<
  Record<string, { about: string; make(answered: readonly Answered[]): StandIn }>
> = {
  words: {
    about: 'knows words and no meanings, so that it can only disturb',
    make: () => embedWords,
  },
  noise: {
    about: 'a direction drawn for each text: knows nothing',
    make: () => (text, dimensions) => toUnit(draw(text, dimensions)),
  },
  answers: {
    about: 'leans each question towards what answers it, as a good model would',
    make: lean,
  },
};

/** How far: by these vectors alone the first passage is a right one for 0.64 of the questions. */
const LEAN = 0.3;

function lean(answered: readonly Answered[]): StandIn {
  const answersOf = new Map(answered.map(({ question, answers }) => [question, answers]));
  // Texts of a real model are all somewhat alike, and share more than their words.
  const embedText: StandIn = (text, dimensions) =>
    toUnit(
      sum([
        [embedWords(text, dimensions), 1],
        [toUnit(draw(text, dimensions)), 1],
        [toUnit(draw('what all texts share', dimensions)), 1],
      ]),
    );
  return (text, dimensions) => {
    const answers = answersOf.get(text) ?? [];
    const own = embedText(text, dimensions);
    if (answers.length === 0) return own;
    const parts = answers.map((answer): [number[], number] => [
      embedText(answer, dimensions),
      LEAN / answers.length,
    ]);
    return toUnit(sum([[own, 1], ...parts]));
  };
}

function sum(parts: readonly (readonly [readonly number[], number])[]): number[] {
  const [first = [[], 0]] = parts;
  return first[0].map((_, at) =>
    parts.reduce((total, [vector, weight]) => total + weight * (vector[at] ?? 0), 0),
  );
}

function toUnit(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Numbers of a normal distribution, the same ones for the same text. */
function draw(text: string, dimensions: number): number[] {
  let state = 2_166_136_261;
  for (let at = 0; at < text.length; at += 1) {
    state = Math.imul(state ^ text.charCodeAt(at), 16_777_619);
  }
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32;
  };
  return Array.from(
    { length: dimensions },
    () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()),
  );
}
