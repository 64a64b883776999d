/** A file of the demo as it begins. */
export interface DemoFile {
  path: string;
  content: string;
  reason: string;
}

/** What is learned one day. */
export interface DemoFact {
  path: string;
  /** The heading that it goes under; `null` for the end of the file. */
  under: string | null;
  text: string;
  reason: string;
  /** It is told to `memory_remember`, which finds the place; else the agent patches the file. */
  isTold?: true;
  /** The day that it is learned on; absent: one fact after the other, over all of the weeks. */
  onDay?: number;
  /** The title of the file that it begins, where there is none yet. */
  newFile?: string;
}

/** What the quiet hours tidy up once all of its lines are there. */
export interface DemoTidying {
  kind: 'merge' | 'supersede' | 'reword' | 'move';
  path: string;
  remove: readonly string[];
  add: readonly string[];
  /** Where the added lines go; absent: where the first of the removed ones stood. */
  heading?: string;
  sources: readonly { path: string; text: string }[];
  reason: string;
}

/** A user of the demo: a person whom an agent works for. */
export interface DemoUser {
  userId: string;
  /** Who reads and writes for this user. */
  actor: string;
  /** The most sessions of a working day. */
  sessions: number;
  files: DemoFile[];
  questions: string[];
  /** What is learned over the weeks, in this order. */
  facts: DemoFact[];
  tidyings: DemoTidying[];
}
