// A browser without a window, the same on every machine.
import puppeteer from "puppeteer-core";

export function browser() {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--hide-scrollbars", "--disable-lcd-text", "--font-render-hinting=none", "--force-color-profile=srgb", "--disable-gpu"],
  });
}

// shoot keeps a picture when SHOTS names a folder.
export async function shoot(page, name) {
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
  }
}
