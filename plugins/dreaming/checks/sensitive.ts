import type { Candidate } from '../plan.ts';
import { tokenise } from '../text/words.ts';
import { catalogGrounds } from './catalog.ts';

/** Beginnings of words that make a claim about someone, by what it is about. */
const CLAIMS: Readonly<Record<string, readonly string[]>> = {
  health: (
    'diabet cancer depress anxiet autis adhd bipolar hiv aids pregnan allerg asthma disab illness ill sick ' +
    'diseas diagnos therap psych medicat insulin chronic addict alcoholi tumor tumour schizo epilep dementia ' +
    'overweight obes surger health krank krebs schwanger behindert gesundheit malad santé enferm embaraz ' +
    'salud malat gravid ziek zwanger болезн здоров 病 糖尿 抑郁 鬱 怀孕 障害 がん'
  ).split(' '),
  religion: (
    'religio muslim islam christian cathol protestant jewish jew judais hindu buddhis atheis mosque church ' +
    'synagog pray faith ramadan halal kosher bibl quran koran glaub kirche gebet église musulman juif ' +
    'iglesia musulm judí chiesa мусульм христиан 宗教 佛教 基督 穆斯林'
  ).split(' '),
  sexuality: (
    'gay lesbian bisexual homosex heterosex transgend queer lgbt sexual orientation nonbinary schwul lesb ' +
    'homosexu lesbienn maricón 同性 性取向'
  ).split(' '),
  politics: (
    'republican democrat conservat liberal socialis communis leftist rightwing leftwing votes voted voter ' +
    'political politic party activist union wähl partei sozialist politi elector votant sindicat 政治 政党 投票'
  ).split(' '),
  money: (
    'debt bankrupt salary income wage rich poor wealth mortgage loan broke afford financ credit insolven ' +
    'savings indebted gehalt schulden pleite einkommen verschuld salaire dette sueldo deuda stipend salario ' +
    'зарплат долг 工资 债 貧 收入 破产'
  ).split(' '),
};

/** Short words must match whole: `ill` is not `illustration`. */
const WHOLE_WORD = 4;

/** No claim on health, religion, sexuality, politics or money that its sources do not make. */
export function checkSensitive(candidate: Candidate): string | null {
  const { added, operation, grounds } = candidate;
  const text = [...added, operation.add?.heading ?? ''].join('\n');
  const known = [grounds, catalogGrounds(candidate)].join('\n');
  for (const [subject, beginnings] of Object.entries(CLAIMS)) {
    const claimed = claimsOf(text, beginnings);
    const stated = new Set(claimsOf(known, beginnings));
    if (claimed.some((beginning) => !stated.has(beginning))) {
      return `no source says that about ${subject}`;
    }
  }
  return null;
}

function claimsOf(text: string, beginnings: readonly string[]): string[] {
  const words = tokenise(text).map((token) => token.text.toLowerCase());
  return beginnings.filter((beginning) =>
    /\p{Lo}/u.test(beginning)
      ? text.includes(beginning)
      : words.some((word) =>
          beginning.length < WHOLE_WORD ? word === beginning : word.startsWith(beginning),
        ),
  );
}
