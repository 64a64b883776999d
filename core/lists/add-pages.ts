/** Asks for page after page until the last one, and adds each to those before. */
export async function addPages<Page extends { nextCursor?: string | null }>(
  ask: (place: { cursor?: string }) => Promise<Page>,
  add: (before: Page, page: Page) => Page,
): Promise<Page> {
  let page = await ask({});
  let all = page;
  while (page.nextCursor !== null && page.nextCursor !== undefined) {
    page = await ask({ cursor: page.nextCursor });
    all = add(all, page);
  }
  return all;
}
