/**
 * Turns a PNG into WebP, with the browser of a page.
 *
 * @param {import('playwright-core').Page} page
 * @param {Buffer} png
 * @param {{ quality: number, levels?: number }} options `quality` from 0 to 1, which is lossless;
 *   `levels`: how many values each colour keeps, all 256 if absent
 * @returns {Promise<Buffer>}
 */
export async function toWebp(page, png, { quality, levels = 256 }) {
  const step = 255 / (levels - 1);
  const url = await page.evaluate(
    `createImageBitmap(new Blob([Uint8Array.from(atob('${png.toString('base64')}'), (one) => one.charCodeAt(0))]))
      .then((bitmap) => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
        const context = canvas.getContext('2d');
        context.drawImage(bitmap, 0, 0);
        const picture = context.getImageData(0, 0, canvas.width, canvas.height);
        picture.data.set(picture.data.map((level) => Math.round(level / ${step}) * ${step}));
        context.putImageData(picture, 0, 0);
        return canvas.toDataURL('image/webp', ${quality});
      })`,
  );
  return Buffer.from(String(url).split(',')[1] ?? '', 'base64');
}
