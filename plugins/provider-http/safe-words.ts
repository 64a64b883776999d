import { PROVIDER_MESSAGE_CHARS } from '../../core/providers/provider-failure.ts';
import { takeStart } from '../../core/encoding/take-text.ts';

/** A provider's words are read up to here. */
const READ_CHARS = 400;
const GAP = '…';

/**
 * A provider's own words about a failure, as far as they are safe to show: a provider may repeat the
 * prompt, memory or a key. Only words that errors are made of are shown, the name of the model, and
 * numbers that do not stand in the request. `null` where nothing is left. `sent` is the body of the
 * request.
 */
export function toSafeWords(words: string, sent: string | null): string | null {
  const model = /"model":"([^"\\]{1,100})"/.exec(sent ?? '')?.[1] ?? null;
  const shown = takeStart(words, READ_CHARS)
    // The escapes of JSON would become letters of the next word.
    .replace(/\\(?:u[\da-f]{4}|x[\da-f]{2}|.)/giu, ' ')
    .split(/[\s\p{C}\p{Z}]+/u)
    .map((token) => {
      if (model !== null && isQuoted(token, model)) return token;
      if (token.includes('@') || token.includes('//')) return GAP;
      return token.replace(/[^\s'"`.,:;()!?]+/gu, (word) => (isSafe(word, sent) ? word : GAP));
    })
    .join(' ')
    .replace(/…(?:[\s'"`.,:;()!?]*…)+/g, GAP)
    .trim();
  const whole = cut(shown);
  const safe = whole.endsWith('.') ? whole.slice(0, -1) : whole;
  return /[a-z]{2}/i.test(safe) ? safe : null;
}

/** Whether what a provider calls a failure is made of words of errors: `model_not_found`. */
export function isSafeCode(code: string): boolean {
  const words = code.replace(/([a-z])([A-Z])/g, '$1_$2');
  return /^[A-Za-z][A-Za-z_.-]{1,63}$/.test(code) && isSafe(words.replaceAll('.', '_'), null);
}

/** Whether a token is the text, maybe in quotes. */
function isQuoted(token: string, text: string): boolean {
  const at = token.indexOf(text);
  if (at === -1 || token.length - text.length > 6) return false;
  return !/[a-z\d]/i.test(token.slice(0, at) + token.slice(at + text.length));
}

function isSafe(word: string, sent: string | null): boolean {
  if (/^\d{1,9}$/.test(word)) return sent?.includes(word) !== true;
  return word.split(/[-_/]/).every((part) => COMMON.has(part.toLowerCase()) || part === '');
}

function cut(text: string): string {
  if (text.length <= PROVIDER_MESSAGE_CHARS) return text;
  const end = text.lastIndexOf(' ', PROVIDER_MESSAGE_CHARS - 2);
  return `${text.slice(0, end).trimEnd()} ${GAP}`;
}

/** The words that errors are made of. */
const COMMON = new Set(
  (
    'a about above accept accepted accepts access account active actual add additional after again against ' +
    'all allow allowed allows already also an and another any api are argument arguments array as ask at ' +
    'attempt attempts auth authentication authorization authorized available b back backend bad balance ' +
    'base based batch batches be because been before being below between billing body bound bounds busy but by ' +
    'bytes calculation call called calls can cannot capacity chars characters chat check choice choose ' +
    'client cluster code come comma complete completed completion completions concurrency concurrent ' +
    'configured connect connection contact contain contains content contents context continue could create ' +
    'credential credentials credit credits current currently cut daily data day days decrease default ' +
    'deployment deprecated detail details did different dimension dimensions disabled do does due during ' +
    'each either element elements email embed embedding embeddings empty enable enabled encoding end ' +
    'endpoint engine enough error errors estimated exactly exceed exceeded exceeding exceeds exhausted exist exists ' +
    'expected expects expired extra fail failed failure fast features field fields file filter find first fit ' +
    'float fewer for forbidden form format found free from full function functions gateway generate ' +
    'generated generating generation get given go got gpu greater group had handle has have header heavy ' +
    'here high higher hour hours how http id if in inactive incorrect increase inference input inputs ' +
    'instance instead insufficient int integer internal into invalid is issue it item items its json just ' +
    'keep key kind know known large larger last later least left length less limit limited limits list ' +
    'load loaded loading long longer low lower made make many match matched max maximum may memory message ' +
    'messages method min minimum minute minutes missing mode model models moderation moment month monthly ' +
    'more most much must name need needed needs network new next no node non none not nothing now null ' +
    'number object of off on once one online only open operation option options or order organization ' +
    'other our out output outputs over overload overloaded own page param parameter parameters parse part ' +
    'path pay payload payment per period permission permissions permitted physical plan please point ' +
    'policy pool position positive possible post present prevent previous process processed processing ' +
    'project prompt prompts properties property provide provided provider purchase put query queue quota ' +
    'range rate reach reached reading reason received recently reduce refused region reject rejected ' +
    'released remaining remove replace request requested requests require required requires reset ' +
    'resource resources response response_format restart result retry retrying return returned returning ' +
    'role room route run running safety same schema second seconds see select send sent sequence server servers ' +
    'service set setting settings short shorten shorter should single size slot slots slow small smaller so ' +
    'some something soon spending start started starting state status still stop stopped stream streaming ' +
    'strict string subscription such support supported supports sure switch system take takes task temperature ' +
    'temporarily temporary terminated text texts than that the their then there these they this those through tier ' +
    'time timed timeout times to token tokens too tool tools top total traffic transient trial true truncate ' +
    'truncated try trying type types unable unauthorized unavailable under unexpected unit unknown unless ' +
    'unrecognized unsupported until up update upgrade upstream url usage use used user using valid ' +
    'validation value values vector vectors version very via wait waiting was way we week were when where ' +
    'which while will with within without wrong yet you your zero'
  ).split(' '),
);
