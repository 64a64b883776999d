import type {
  AdminRevision,
  AdminRevisionDetail,
  BlamedLines,
  InfluencedAccess,
} from '../../core/contracts/admin.ts';
import { tellLines } from './shown-lines.ts';
import { tellChange } from './story.ts';
import type { Undo } from './undo.ts';

/** One line of a memory file at a version. */
export interface LineAt {
  path: string;
  version: number;
  line: number;
}

/** The writes of one tool call, one dream run or one operator: what is reverted together. */
export interface Write {
  key: string;
  revisions: readonly [AdminRevision, ...AdminRevision[]];
  /** Not of the reader's trace: by the same actor, soon after it was shown the file. */
  isProbable: boolean;
}

/** The most traces and the most readers that are followed, and the most writes of each. */
export const MAX_FOLLOWED = 40;
export const MAX_WRITES = 100;
/** Says that an incident does not have all writes. */
export const MORE_WRITES = `They may have written more: only the latest ${MAX_FOLLOWED} readers are followed, and ${MAX_WRITES} writes of each.`;

/** All that follows from one line. */
export interface Incident {
  place: LineAt;
  text: string;
  /** The lines that were written together with it; `null` where blame says nothing. */
  blamed: BlamedLines | null;
  writer: AdminRevisionDetail | null;
  /** Who was shown the line, newest first. */
  shown: readonly InfluencedAccess[];
  /** Whether all calls that were shown it are known. */
  isComplete: boolean;
  /** The origin comes first, then what its readers wrote, oldest first. */
  writes: readonly Write[];
  /** Whether all of those who were shown the line are followed, with all that they wrote. */
  hasAllWrites: boolean;
}

/** The story of a line as markdown, for a report; `undone` is the receipt of the reverts. */
export function toStory(incident: Incident, undone: Undo | null): string {
  const { place, text, writer, blamed, shown, isComplete, writes, hasAllWrites } = incident;
  const [origin] = writes;
  const followed = writes.filter((write) => writer === null || write !== origin);
  return [
    `# Incident: ${toCode(place.path)}, line ${place.line}`,
    toFence(text),
    `Of version ${place.version}.`,
    '## Who wrote it',
    ...(writer === null
      ? [`Unknown: its revision is pruned. It is older than ${blamed?.before ?? 'the history'}.`]
      : [tellRevision(writer), ...writer.afterReading.map(tellRead)].map(toItem)),
    '## Who was shown it since',
    ...(shown.length === 0 ? ['Nobody.'] : shown.map(tellAccess).map(toItem)),
    ...(isComplete ? [] : ['More calls may have been shown it: older history is not known.']),
    '## What they wrote afterwards',
    ...(followed.length === 0
      ? ['Nothing.']
      : followed
          .flatMap(({ revisions, isProbable }) =>
            revisions.map((one) => tellRevision(one) + (isProbable ? ' (probably)' : '')),
          )
          .map(toItem)),
    ...(hasAllWrites ? [] : [MORE_WRITES]),
    ...(undone === null
      ? []
      : [
          '## What was reverted',
          undone.summary,
          ...undone.files
            .map(({ path, outcome, version, why }) =>
              [
                `${toCode(path)}: ${outcome.replaceAll('_', ' ')}`,
                ...(version === null ? [] : [`now version ${version}`]),
                ...(why === null ? [] : [toPlain(why)]),
              ].join(', '),
            )
            .map(toItem),
        ]),
  ]
    .reduce((story, part) => {
      const isInList = part.startsWith('- ') && story.at(-1)?.startsWith('- ') === true;
      return [...story, ...(story.length === 0 || isInList ? [] : ['']), part];
    }, [] as string[])
    .join('\n')
    .concat('\n');
}

const toItem = (text: string) => `- ${text}`;

function tellRevision(revision: AdminRevision): string {
  const { at, actor, tool, path, version, reason, id, toolCallId } = revision;
  return [
    `${at}: ${toCode(actor)} wrote ${toCode(path)}, version ${version} (${tellChange(revision)})`,
    ...(tool === null ? [] : [`with ${toCode(tool)}`]),
    ...(reason === null ? [] : [`reason ${toCode(reason)}`]),
    `revision ${toCode(id)}`,
    ...(toolCallId === null ? [] : [`tool call ${toCode(toolCallId)}`]),
  ].join(', ');
}

function tellRead({ path, probably }: AdminRevisionDetail['afterReading'][number]): string {
  return `after reading ${toCode(path)}${probably ? ' (probably)' : ''}`;
}

/** In which version, and where, an access showed the line. */
export function tellPlace({ version, line, lines }: InfluencedAccess): string {
  const where = lines === null ? tellLines(null) : line === null ? '' : `line ${line}`;
  return [
    ...(version === null ? [] : [`version ${version}`]),
    ...(where === '' ? [] : [where]),
  ].join(', ');
}

function tellAccess(access: InfluencedAccess): string {
  const { at, actor, userId, tool, toolCallId } = access;
  return [
    `${at}: ${toCode(actor)}${userId === null ? '' : ` for ${toCode(userId)}`}`,
    ...(tool === null ? [] : [`with ${toCode(tool)}`]),
    tellPlace(access),
    ...(toolCallId === null ? [] : [`tool call ${toCode(toolCallId)}`]),
  ].join(', ');
}

/** Memory is untrusted: as code, it is no markup and no link. */
function toCode(text: string): string {
  const line = toPlain(text);
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const ticks = '`'.repeat(longest + 1);
  return longest === 0 ? `${ticks}${line}${ticks}` : `${ticks} ${line} ${ticks}`;
}

function toFence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

const toPlain = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
