import type { RevertSelection, RevertWritesAnswer } from '../../core/contracts/admin.ts';
import { addRevertPage } from '../../core/history/undo/add-page.ts';
import { addPages } from '../../core/lists/add-pages.ts';
import type { Api } from './api.ts';

/** Undoes the lines that have a text, page by page. */
export async function undoText(
  api: Api,
  request: Pick<RevertSelection, 'text' | 'in' | 'dryRun'>,
): Promise<RevertWritesAnswer> {
  return await addPages((place) => api.revertWrites({ ...request, ...place }), addRevertPage);
}
