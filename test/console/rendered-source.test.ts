import MarkdownIt from 'markdown-it';
import { expect, it } from 'vitest';
import { toMarkdown } from '../../console/src/rendered-source.ts';

it('renders front matter as code, and no mark of byte order', () => {
  const render = (source: string) => new MarkdownIt().render(toMarkdown(source));
  for (const mark of ['', '\uFEFF']) {
    expect(render(`${mark}---\n# a\nb: c\n---\n# D\n`)).toBe(
      '<pre><code># a\nb: c\n</code></pre>\n<h1>D</h1>\n',
    );
    expect(render(`${mark}# D\n`)).toBe('<h1>D</h1>\n');
    expect(render(`${mark}---\n\nD\n`)).toBe('<hr>\n<p>D</p>\n');
  }
});
