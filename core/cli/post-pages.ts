import { addPages } from '../lists/add-pages.ts';
import type { RunningServer } from './running-server.ts';

/** An answer for some files. */
interface Page {
  nextCursor?: string | null;
  progress?: { files?: number; done?: number };
}

/** Posts for page after page, and says on standard error how many files were looked through. */
export async function postPages<Answer extends Page>(
  api: RunningServer,
  {
    route,
    body,
    toProgress = ({ progress }) => `${progress?.files} files`,
  }: { route: string; body: object; toProgress?: (page: Answer) => string },
  add: (before: Answer, page: Answer) => Answer,
): Promise<Answer> {
  return await addPages<Answer>(async (place) => {
    const page: Answer = await api.ask('POST', route, { ...body, ...place });
    if ((page.nextCursor ?? null) !== null) {
      process.stderr.write(`So far: ${toProgress(page)}.\n`);
    }
    return page;
  }, add);
}
