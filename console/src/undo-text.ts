import type { RevertSelection, RevertWritesAnswer } from '../../core/contracts/admin.ts';
import { addRevertPage } from '../../core/history/undo/add-page.ts';
import type { Api } from './api.ts';

/** Undoes the lines that have a text, page by page. */
export async function undoText(
  api: Api,
  request: Pick<RevertSelection, 'text' | 'in' | 'dryRun'>,
): Promise<RevertWritesAnswer> {
  let all: RevertWritesAnswer | null = null;
  let cursor: string | null = null;
  do {
    const page: RevertWritesAnswer = await api.revertWrites({
      ...request,
      ...(cursor === null ? {} : { cursor }),
    });
    all = all === null ? page : addRevertPage(all, page);
    cursor = page.nextCursor ?? null;
  } while (cursor !== null);
  return all;
}
