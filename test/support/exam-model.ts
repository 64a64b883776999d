/** How a scripted model does in an exam. */
export interface ExamAnswers {
  /** What it answers to a fact; default: what is right. */
  file?: (prompt: string, right: object) => unknown;
  /** The verdict on an edit; default: what is right. */
  judge?: (right: string, kind: string) => string;
}

/** What is right, read from the lines of the question: for tests of the exam, and for no memory. */
export function answerExam(prompt: string, { file, judge }: ExamAnswers = {}): unknown {
  if (prompt.includes('<operation-')) return judgeAll(prompt, judge ?? ((right) => right));
  const right = fileFact(prompt);
  return file === undefined ? right : file(prompt, right);
}

function fileFact(prompt: string): object {
  const fact = /<fact-\w+>\n(.*)\n<\/fact-/.exec(prompt)?.[1] ?? '';
  const idOf = (part: string) =>
    new RegExp(`^([a-z]\\d+)\\| .*${part}`, 'm').exec(prompt)?.[1] ?? 'z1';
  const profile = 'user/profile.md';
  const one = (kind: string, remove: string[], add: object | null) => ({
    forget: add === null,
    operations: [{ kind, reason: '', remove, add, sources: [] }],
  });
  const moved = /^I moved from (.+) to (.+)\.$/.exec(fact);
  if (moved !== null) {
    const lines = [`- Lives in ${moved[2]}.`];
    return one('update', [idOf(`Lives in ${moved[1]}`)], { path: profile, heading: null, lines });
  }
  if (fact.startsWith('Forget')) return one('supersede', [idOf('Prefers')], null);
  const other = /^(\w+) has her (.*)$/.exec(fact);
  if (other !== null) {
    const add = { path: 'user/people.md', heading: other[1], lines: [`- Has her ${other[2]}`] };
    return one('add', [], add);
  }
  return one('add', [], { path: profile, heading: null, lines: [`- ${fact}`] });
}

function judgeAll(prompt: string, judge: (right: string, kind: string) => string): object {
  const operations = [
    ...prompt.matchAll(/<operation-\w+ number="(\d+)" kind="(\w+)">\n([\s\S]*?)\n<\/operation-/g),
  ];
  return {
    verdicts: operations.map(([, number, kind = '', rows = '']) => ({
      operation: Number(number),
      lost: [],
      added: [],
      proof: [],
      verdict: judge(toVerdict(kind, rows), kind),
    })),
  };
}

function toVerdict(kind: string, rows: string): string {
  if (kind === 'supersede') return rows.includes('allergic') ? 'loses' : 'replaces';
  if (kind === 'merge') return 'keeps';
  return rows.includes(', she ') || rows.includes('that she ') || rows.includes('tell, she')
    ? 'keeps'
    : 'wrong';
}
