import { parseMarkdown, type MarkdownText } from '../../core/edits/markdown.ts';
import { isTranscript } from '../../core/edits/transcript.ts';

/** A memory file as a run has read it. */
export interface SnapshotFile extends MarkdownText {
  /** Virtual. */
  path: string;
  version: number;
  fileNo: number;
  revisionId: string;
  content: string;
  isTranscript: boolean;
  /** When each line came, in milliseconds. */
  times: readonly number[];
}

/** What operations are checked against: files as the model saw them. */
export interface Snapshot {
  files: ReadonlyMap<string, SnapshotFile>;
  /** Virtual paths of all the user's files that dreaming may know of. */
  paths: ReadonlySet<string>;
}

/** Makes a snapshot's file of a memory file. */
export function toSnapshotFile(file: {
  path: string;
  version: number;
  fileNo: number;
  revisionId: string;
  content: string;
  times: readonly number[];
}): SnapshotFile {
  const text = parseMarkdown(file.content);
  return { ...file, ...text, isTranscript: isTranscript(text.lines) };
}

/** The text of a line, without white space around it; `null` where there is none. */
export function lineAt(snapshot: Snapshot, ref: { path: string; line: number }): string | null {
  const line = snapshot.files.get(ref.path)?.lines[ref.line - 1];
  return line === undefined ? null : line.trim();
}
