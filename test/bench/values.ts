import { readLanguages } from '../../core/values/language.ts';
import { readValues } from '../../core/values/values.ts';
import { VALUE_TEXTS, type ValueText } from '../support/value-texts.ts';
import type { Suite } from './support/bench.ts';
import { importPeer } from './support/import-peer.ts';

/** Whether a reader finds the value of a text; `null` for a kind that it does not read. */
type Reads = (text: ValueText) => boolean | null;

/** A day on which no text of the set falls. */
const TODAY = new Date('2026-11-22T12:00:00Z');
const TIMES = new Set(['clock', 'clock in words', 'part of the day', 'date', 'weekday']);

/** What libraries read of the values that notes say, by language. */
export const suite: Suite = {
  about: 'values in notes of fifteen languages: our reader, chrono-node, Recognizers-Text',
  async run({ report }) {
    const readers: Record<string, Reads> = {
      ours: readsOurs,
      'chrono-node (times and dates)': await openChrono(),
      'Recognizers-Text': await openRecognizers(),
    };
    for (const language of new Set(VALUE_TEXTS.map((one) => one.language))) {
      const texts = VALUE_TEXTS.filter((one) => one.language === language);
      const counts = Object.entries(readers).map(([name, reads]) => {
        const read = texts.map(reads).filter((found) => found !== null);
        return `${name} ${read.filter(Boolean).length} of ${read.length}`;
      });
      report.note(`| ${language} | ${counts.join(' | ')} |`);
    }
  },
};

function readsOurs({ kind, text, value }: ValueText): boolean {
  const { values } = readValues(text, readLanguages(text));
  const keys = values.flatMap((one) => one.keys);
  if (kind === 'date') return keys.includes(`d:-${value}`);
  if (kind === 'weekday') return keys.includes(`day:${value}`);
  if (TIMES.has(kind)) return keys.includes(`t:${value}`);
  return keys.some((key) => key.endsWith(`:${value}`));
}

interface ChronoResult {
  start: { get(part: string): number | null };
}

async function openChrono(): Promise<Reads> {
  const chrono =
    await importPeer<Record<string, { parse?(text: string, day: Date): ChronoResult[] }>>(
      'chrono-node',
    );
  return ({ language, kind, text, value }) => {
    if (!TIMES.has(kind)) return null;
    const found = chrono[language]?.parse?.(text, TODAY) ?? [];
    return found.some(({ start }) => {
      if (kind === 'date') return `${start.get('month')}-${start.get('day')}` === value;
      if (kind === 'weekday') return String(start.get('weekday')) === value;
      return `${start.get('hour')}:${String(start.get('minute')).padStart(2, '0')}` === value;
    });
  };
}

const CULTURES: Readonly<Record<string, string>> = {
  en: 'en-us',
  de: 'de-de',
  fr: 'fr-fr',
  es: 'es-es',
  it: 'it-it',
  pt: 'pt-br',
  nl: 'nl-nl',
  sv: 'sv-se',
  tr: 'tr-tr',
  ja: 'ja-jp',
  zh: 'zh-cn',
  ko: 'ko-kr',
  ar: 'ar-sa',
};

async function openRecognizers(): Promise<Reads> {
  const peer = await importPeer<{
    default: Record<string, (text: string, culture: string) => object[]>;
  }>('@microsoft/recognizers-text-suite');
  const ask = (name: string, text: string, language: string): string => {
    try {
      return JSON.stringify(peer.default[name]?.(text, CULTURES[language] ?? language) ?? []);
    } catch {
      // It throws for languages that it does not have.
      return '[]';
    }
  };
  return ({ language, kind, text, value }) => {
    if (TIMES.has(kind)) {
      const [one = '', two = ''] = value.split(/[-:]/);
      const wanted =
        kind === 'date'
          ? `-${one.padStart(2, '0')}-${two.padStart(2, '0')}"`
          : kind === 'weekday'
            ? `"XXXX-WXX-${value}`
            : `"${one.padStart(2, '0')}:${two}:00"`;
      return ask('recognizeDateTime', text, language).includes(wanted);
    }
    return [
      'recognizeNumber',
      'recognizeDimension',
      'recognizeCurrency',
      'recognizePercentage',
    ].some((name) => ask(name, text, language).includes(`"value":"${value}`));
  };
}
